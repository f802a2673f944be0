"""What newcomers get, made of small stand-ins for the files of the wheels."""

import gzip
import subprocess
from itertools import combinations

import numpy as np
import pytest
from places import REPOSITORY

pytest.importorskip("safetensors", reason="the package safetensors is missing")
pytest.importorskip("PIL.Image", reason="the package Pillow is missing")
pytest.importorskip("autograd", reason="the package autograd is missing")


@pytest.fixture
def digits_table(monkeypatch):
    """520 digits: all pixels of digit i have brightness i % 17, its class is i % 10."""
    from thinwire_prepare import digits

    rows = "".join(f"{','.join([str(i % 17)] * 64)},{i % 10}\n" for i in range(520))
    monkeypatch.setattr(digits, "take_files", lambda *_: [gzip.compress(rows.encode())])


@pytest.fixture
def lee_files(monkeypatch):
    """Four texts; the similarity of i and j is (i + j) / 10."""
    from thinwire_prepare import lee

    texts = "a cat \na dog runs\nfar\ncat sleeps"
    scores = "\n".join(
        "\t".join(str((i + j) / 10 if i < j else 0) for j in range(4)) for i in range(4)
    )
    files = [texts.encode(), scores.encode(), b"dog\nfar cat\n"]
    monkeypatch.setattr(lee, "take_files", lambda *_: files)


def test_digits_are_split_once_and_grey_is_scaled(digits_table, tmp_path):
    from thinwire_prepare.digits import load_digits

    calibration, test = load_digits(tmp_path, 16)
    again, _ = load_digits(tmp_path, 16)

    assert calibration["image"].shape == (20, 16, 16, 3)
    assert test["image"].shape == (500, 16, 16, 3)
    assert np.array_equal(calibration["image"], again["image"])
    assert test["image"].max() == 255
    assert np.bincount(np.concatenate([calibration["label"], test["label"]])).tolist() == [52] * 10


def test_texts_make_all_pairs_in_random_order_with_scores(lee_files, words_tokenizer, tmp_path):
    from thinwire_prepare.lee import load_lee
    from thinwire_prepare.tokenizer import load_tokenizer

    pairs, calibration = load_lee(tmp_path, load_tokenizer(words_tokenizer))

    texts = [[2, 4, 5, 3], [2, 4, 6, 7, 3], [2, 9, 3], [2, 5, 8, 3]]
    rows = [ids[:n].tolist() for ids, n in zip(pairs["input_ids"], pairs["length"])]
    found = [tuple(map(texts.index, rows[2 * i : 2 * i + 2])) for i in range(6)]
    assert sorted(found) == list(combinations(range(4), 2))
    assert found != sorted(found)
    assert pairs["score"] == pytest.approx([5 * (i + j) / 10 for i, j in found])
    assert calibration["length"].tolist() == [3, 4]
    assert "score" not in calibration


def test_a_vit_of_digits_is_made_once(digits_table, tmp_path, monkeypatch, capsys):
    from thinwire_prepare import newcomer
    from thinwire_prepare.small_vit import Shape
    from thinwire_prepare.small_vit_training import Options

    monkeypatch.setattr(newcomer, "SHAPE", Shape(8, 4, 8, 1, 2, 16, 10))
    monkeypatch.setattr(newcomer, "TRAINING", Options(epochs=1, batch=8))
    for _ in range(2):
        newcomer.make_digits(tmp_path, tmp_path)
    last = capsys.readouterr().out.splitlines()[-1]
    monkeypatch.setattr(newcomer, "TRAINING", Options(epochs=2, batch=8))
    newcomer.make_digits(tmp_path, tmp_path)

    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "digits_calib.safetensors", "digits_test.safetensors", "vit-digits"
    ]
    assert last.endswith("present")
    assert "trained in" in capsys.readouterr().out  # another recipe


def test_the_shell_script_takes_no_options():
    script = REPOSITORY / "experiments" / "prepare" / "newcomer.sh"
    done = subprocess.run(
        ["bash", script, "--quick"], capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 2
    assert "Usage: experiments/prepare/newcomer.sh" in done.stderr
