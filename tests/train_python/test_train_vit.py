"""train_vit.py: a model from scratch that thinwire loads, resuming, and what it refuses."""

import json
import sys

import pytest
import torch
from conftest import TRAIN, call, relative_difference

SIDE, CLASSES = 16, 3


@pytest.fixture
def pictures(tmp_path):
    """60 pictures of three colours with noise, in a data file with names of classes."""
    from safetensors.torch import save_file

    generator = torch.Generator().manual_seed(0)
    label = torch.arange(60, dtype=torch.int32) % CLASSES
    image = torch.randint(0, 60, (60, SIDE, SIDE, 3), generator=generator).to(torch.uint8)
    for number in range(CLASSES):
        image[label == number, :, :, number] += 120
    file = tmp_path / "pictures.safetensors"
    save_file({"image": image, "label": label}, file, {"classes": "red,green,blue"})
    return file


@pytest.fixture
def train_vit(tmp_path, pictures):
    def run(*arguments):
        small = ("--patch", 4, "--hidden", 24, "--layers", 2, "--heads", 3, "--batch", 16)
        return call([sys.executable, TRAIN / "train_vit.py", "--threads", 1, "--data", pictures,
                     "--out", tmp_path / "vit", *small, *arguments], tmp_path)

    return run


def trained_tensors(folder):
    from safetensors.torch import load_file

    return load_file(folder / "vit" / "model.safetensors")


def test_thinwire_gives_the_logits_of_the_trained_model(tmp_path, pictures, train_vit,
                                                        thinwire_outputs):
    from thinwire_train.checkpoint import read_checkpoint
    from thinwire_train.data import open_data

    done = train_vit("--epochs", 3, "--rate", "3e-3")
    assert done.returncode == 0, done.stderr

    model = read_checkpoint(tmp_path / "vit").model.eval()
    batch, _ = open_data(pictures, model.config, tmp_path / "vit").batch(torch.tensor([5]))
    with torch.no_grad():
        wanted = model(batch)
    outputs = thinwire_outputs(
        "--model", tmp_path / "vit", "--input", pictures, "--sample", 5
    )
    assert relative_difference(outputs["logits"].view(-1), wanted.view(-1)) < 1e-4
    assert json.loads((tmp_path / "vit" / "config.json").read_text())["id2label"]["2"] == "blue"
    assert not (tmp_path / "vit" / "training-state.pt").exists()


def test_learns_what_is_easy_and_scores_pictures_it_has_not_seen(tmp_path, train_vit):
    done = train_vit("--epochs", 20, "--rate", "3e-3", "--validation", 0.2, "--augment", "flip")

    assert done.returncode == 0, done.stderr
    scores = json.loads((tmp_path / "vit" / "training.json").read_text())["scores"]
    assert (scores["train"]["samples"], scores["validation"]["samples"]) == (48, 12)
    assert scores["validation"]["value"] == 1.0


def test_a_resumed_training_makes_the_weights_of_an_uninterrupted_one(tmp_path, train_vit):
    assert train_vit("--epochs", 4).returncode == 0
    whole = trained_tensors(tmp_path)
    stopped = train_vit("--epochs", 4, "--minutes", 1e-7)
    assert "go on with --resume" in stopped.stdout
    assert train_vit("--epochs", 4, "--resume").returncode == 0

    for name, tensor in trained_tensors(tmp_path).items():
        assert torch.equal(tensor, whole[name]), name


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--epochs", 1, "--patch", 5), ["--patch=5", "16"]),
        (("--epochs", 1, "--heads", 5), ["--heads=5", "--hidden=24"]),
        ((), ["--epochs", "--minutes"]),
        (("--epochs", 1, "--validation", 0.999), ["--validation=0.999"]),
    ],
)
def test_refuses_with_one_line(tmp_path, train_vit, arguments, said):
    done = train_vit(*arguments)

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    for word in said:
        assert word in done.stderr


def test_refuses_a_file_without_labels(tmp_path, pictures, train_vit):
    from safetensors.torch import load_file, save_file

    tensors = load_file(pictures)
    del tensors["label"]
    save_file(tensors, pictures)

    done = train_vit("--epochs", 1)

    assert done.returncode == 2
    assert f"--data={pictures}: tensor label is missing" in done.stderr
