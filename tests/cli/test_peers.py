"""The comparison with PyTorch, with an interpreter that has it, where there is one."""

import json
import os
import random
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from places import BINARY, REPOSITORY, VIT_TINY

PYTHON = Path(
    os.environ.get("THINWIRE_PEERS_PYTHON", REPOSITORY / "build" / "peers-venv" / "bin" / "python")
)
SCRIPT = REPOSITORY / "experiments" / "peers" / "throughput.sh"
TIMEOUT_S = 300
SIDE, PICTURES = 32, 40

pytestmark = pytest.mark.skipif(
    not PYTHON.exists(), reason=f"no {PYTHON}: PyTorch is optional, see {SCRIPT.name}"
)


def compare(*arguments):
    return subprocess.run(
        [SCRIPT, *map(str, arguments)], capture_output=True, text=True, timeout=TIMEOUT_S,
        env={**os.environ, "PYTHON": str(PYTHON), "THINWIRE": str(BINARY)},
    )


def write_pictures(path):
    """Noise with labels, as a data file."""
    noise = random.Random(7)
    images = noise.randbytes(PICTURES * SIDE * SIDE * 3)
    labels = struct.pack(f"<{PICTURES}i", *(noise.randrange(10) for _ in range(PICTURES)))
    header = json.dumps({
        "image": {"dtype": "U8", "shape": [PICTURES, SIDE, SIDE, 3],
                  "data_offsets": [0, len(images)]},
        "label": {"dtype": "I32", "shape": [PICTURES],
                  "data_offsets": [len(images), len(images) + len(labels)]},
    }).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + images + labels)
    return path


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "vit"
    shutil.copytree(VIT_TINY, folder)
    (folder / "preprocessor_config.json").write_text(json.dumps({
        "do_normalize": True, "do_rescale": True, "do_resize": True, "resample": 2,
        "rescale_factor": 1 / 255, "image_mean": [0.5, 0.4, 0.3], "image_std": [0.2, 0.3, 0.4],
        "size": {"height": SIDE, "width": SIDE}}))
    return folder


def test_both_give_the_same_answers(model, tmp_path):
    figures = tmp_path / "figures.json"

    done = compare("--model", model, "--data", write_pictures(tmp_path / "noise.safetensors"),
                   "--rounds", 1, "--batches", "1,16", "--json", figures)

    # The exit status is a verdict on times.
    assert done.returncode in (0, 1) and figures.exists(), done.stderr
    measured = json.loads(figures.read_text())
    assert measured["samples"] == PICTURES
    assert measured["logit_difference"] <= 1e-4
    assert len(measured["accuracy"]) >= 3
    assert len(set(round(value, 6) for value in measured["accuracy"].values())) == 1


@pytest.mark.parametrize("arguments, reason", [
    (["--model", "nowhere"], "--model=nowhere: not there"),
    (["--batches", "1,x"], "--batches=1,x: numbers with commas between"),
])
def test_wrong_usage_is_explained(model, tmp_path, arguments, reason):
    data = write_pictures(tmp_path / "noise.safetensors")

    done = compare("--model", model, "--data", data, *arguments)

    assert done.returncode == 2
    assert reason in done.stderr
