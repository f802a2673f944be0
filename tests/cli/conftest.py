"""How the command-line tests start thinwire and read what it wrote."""

import json
import os
import subprocess

import processes
import pytest
from places import BINARY, VIT_TINY

TIMEOUT_S = 120


class Thinwire:
    """Runs the program in an empty folder of its own."""

    binary = BINARY

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, *arguments, prefix=(), environment=None):
        command = [*prefix, BINARY, *arguments]
        return subprocess.run(
            [str(part) for part in command],
            cwd=self.folder,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )

    def start(self, *arguments, prefix=(), environment=None):
        """Starts the program, for a with statement; see processes.Started."""
        return processes.started(self.folder, [*prefix, BINARY, *arguments], environment or {})

    def records(self, *arguments, environment=None):
        """Runs a command that must succeed with --json FILE; returns the file's records."""
        done = self(*arguments, "--json", "result.jsonl", environment=environment)
        assert done.returncode == 0, done.stderr
        return self.read("result.jsonl")

    def read(self, name):
        """The records of a file in the program's folder."""
        text = (self.folder / name).read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    def files(self):
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*"))


@pytest.fixture
def thinwire(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return Thinwire(folder)


@pytest.fixture
def write_document(tmp_path):
    """Writes a sweep document outside the program's folder; returns its path."""

    def write(document, name="sweep.json"):
        path = tmp_path / name
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def vit_tiny():
    return VIT_TINY


@pytest.fixture
def has_bf16(thinwire):
    """Skips where the CPU has no such instructions."""
    done = thinwire("run", "--model", VIT_TINY, "--dtype", "bf16", "--iterations", "1", "--warmup", "0")
    if done.returncode == 2 and "AVX-512 BF16" in done.stderr:
        pytest.skip("this CPU has no AVX-512 BF16 instructions")
    assert done.returncode == 0, done.stderr
