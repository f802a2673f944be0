"""Tests of experiments/train. They need PyTorch, which experiments/train/setup.sh installs; an
interpreter without it ignores them (tests/cli/test_train_python.py runs them with it)."""

import os
import sys
from dataclasses import dataclass

import pytest
from places import BINARY
from tiny import TINY, TRAIN, call, relative_difference  # noqa: F401 (tests import them from here)

# Set before the first import of torch, as finetune.py does.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("GOMP_SPINCOUNT", "2000")
sys.path.insert(0, str(TRAIN))

try:
    import torch
    from safetensors.torch import load_file, save_file

    torch.set_num_threads(1)
except ImportError:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def thinwire_outputs(tmp_path):
    """Runs thinwire; returns the tensors that it writes."""

    def run(*arguments):
        outputs = tmp_path / "outputs.safetensors"
        command = [BINARY, "run", *arguments, "--iterations", 1, "--warmup", 0,
                   "--outputs", outputs]
        done = call(command, tmp_path)
        assert done.returncode == 0, done.stderr
        return load_file(outputs)

    return run


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def finetune(capfd, monkeypatch, tmp_path):
    """Runs finetune.py's main in an empty folder: a process of its own would import torch anew."""
    import finetune as program

    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        capfd.readouterr()
        try:
            status = program.main(["--threads", "1", *(str(word) for word in arguments)])
        except SystemExit as end:  # argparse's own complaints
            status = end.code
        return Done(status, *capfd.readouterr())

    return run


@pytest.fixture(scope="session")
def data_files(tmp_path_factory):
    """Random data that each tiny model can learn from, by the model's name."""
    folder = tmp_path_factory.mktemp("data")
    generator = torch.Generator().manual_seed(1)

    def draw(high, shape, kind=torch.int32):
        return torch.randint(0, high, shape, generator=generator).to(kind)

    lengths = draw(13, (24,)) + 13
    files = {
        "vit-tiny": {"image": draw(256, (24, 32, 32, 3), torch.uint8), "label": draw(10, (24,))},
        "bert-tiny": {
            "input_ids": draw(200, (24, 25)),
            "attention_mask": (torch.arange(25) < lengths[:, None]).to(torch.int32),
            "label": draw(2, (24,)),
        },
        "gpt2-tiny": {"train": draw(96, (600,), torch.uint8)},
    }
    for name, tensors in files.items():
        save_file(tensors, folder / f"{name}.safetensors")
    return {name: folder / f"{name}.safetensors" for name in files}


@pytest.fixture(params=TINY)
def tiny(request):
    """Name of a tiny model."""
    return request.param
