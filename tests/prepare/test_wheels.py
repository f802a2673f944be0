"""Files out of PyPI's wheels: kept files need no download, and others are refused."""

import hashlib
import zipfile

import pytest

pytest.importorskip("numpy", reason="the package numpy is missing")


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A wheel with one file that the 'download' gives; counts the downloads."""
    from thinwire_prepare import wheels

    path = tmp_path / "some-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("some/data.txt", "content")
    downloads = []
    monkeypatch.setattr(wheels, "_download", lambda package, _: downloads.append(package) or path)
    return downloads


def test_a_file_is_taken_once(tmp_path, wheel):
    from thinwire_prepare.wheels import PackagedFile, take_files

    file = PackagedFile("some==1.0", "some/data.txt", hashlib.sha256(b"content").hexdigest())
    for _ in range(2):
        assert take_files([file], tmp_path / "kept") == [b"content"]
    (tmp_path / "kept" / "data.txt").write_text("spoilt")
    assert take_files([file], tmp_path / "kept") == [b"content"]

    assert wheel == ["some==1.0"] * 2
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["data.txt"]


@pytest.mark.parametrize(
    ("path", "said"), [("some/data.txt", "not the file expected"), ("gone.txt", "has no gone.txt")]
)
def test_another_file_is_refused(tmp_path, wheel, path, said):
    from thinwire_prepare.errors import InputError
    from thinwire_prepare.wheels import PackagedFile, take_files

    with pytest.raises(InputError, match=f"some==1.0: .*{said}"):
        take_files([PackagedFile("some==1.0", path, "0" * 64)], tmp_path / "kept")
