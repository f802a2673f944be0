"""The folders that engines and thinwire read, and thinwire's worker over them."""

import json
import subprocess

import models
import numpy as np
import pytest
from places import BINARY
from tiny_peers import TINY, WORKER, needs_worker
from workers import Skipped, Worker


def test_models_are_the_programs_presets():
    sizes = {name: models.shape_of(config) for name, config in models.CONFIGS.items()}

    assert {name: (shape.tokens, shape.hidden, shape.layers) for name, shape in sizes.items()} == {
        "vit-base-16": (197, 768, 12), "bert-base": (256, 768, 12), "gpt2": (256, 768, 12)}


def test_every_tensor_of_a_folder_is_read_once(folder):
    config = TINY[folder.name]

    model = models.read_model(folder)

    parts = [part for block in model.blocks for pair in vars(block).values() for part in pair]
    read = sum(values.size for values in [*model.tensors.values(), *parts])
    assert read == sum(int(np.prod(shape)) for shape in models.tensor_shapes(config).values())
    assert model.blocks[0].qkv[0].shape == (16, 48) and model.blocks[0].up[0].shape == (16, 32)


def test_folder_is_kept_until_config_or_seed_change(folder):
    weights = folder / "model.safetensors"
    before = weights.stat().st_mtime_ns, weights.read_bytes()

    models.write_folder(folder, TINY[folder.name])
    assert (weights.stat().st_mtime_ns, weights.read_bytes()) == before
    models.write_folder(folder, TINY[folder.name], seed=1)
    assert weights.read_bytes() != before[1]


def test_unknown_family_is_named():
    with pytest.raises(ValueError, match="model_type opt .known: vit, bert, gpt2."):
        models.shape_of({"model_type": "opt"})


def test_program_runs_the_folder(folder):
    done = subprocess.run([BINARY, "run", "--model", folder, "--iterations", "1", "--json", "-"],
                          capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"] == "ok"


@needs_worker
def test_our_worker_answers_runs_ceiling_and_outputs(folder, tmp_path):
    count = {"vit": 5, "bert": 2, "gpt2": 9 * 30}[folder.name]
    worker = Worker("thinwire", [WORKER, folder / "input.bin", f"model={folder}", "threads=1"])
    try:
        worker.started()

        assert worker.version == "thinwire, its own kernels"
        assert 0 < worker.seconds() < 1 and 0 < worker.seconds("ceiling") < 1
        assert worker.write_output(tmp_path / "first") == count
        worker.write_output(tmp_path / "second")
    finally:
        worker.end()
    first, second = (np.fromfile(tmp_path / name, dtype=np.float32) for name in ("first", "second"))
    assert (first == second).all() and first.any()


@needs_worker
@pytest.mark.parametrize("words, reason", [
    (["threads=0"], "--threads=0"), (["model=nowhere"], "nowhere"),
    (["--threads"], "--threads: not of the form NAME=VALUE")])
def test_our_worker_says_what_is_wrong(folder, words, reason):
    command = [WORKER, folder / "input.bin", f"model={folder}", *words]

    with pytest.raises(Skipped, match=reason):
        Worker("thinwire", command).started()
