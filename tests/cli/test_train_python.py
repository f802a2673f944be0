"""Runs tests/train_python with an interpreter that has PyTorch, where there is one."""

import os
import subprocess
from pathlib import Path

import pytest
from places import REPOSITORY

PYTHON = Path(
    os.environ.get("THINWIRE_TRAIN_PYTHON", REPOSITORY / "build" / "train-venv" / "bin" / "python")
)
TIMEOUT_S = 1200


@pytest.mark.skipif(
    not PYTHON.exists(), reason=f"no {PYTHON}: PyTorch is optional, see experiments/train/setup.sh"
)
def test_training_in_pytorch():
    done = subprocess.run(
        [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=.",
         "tests/train_python"],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=TIMEOUT_S,
    )

    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
