"""Hugging Face folders: what is read gives the golden logits, what is written is what was read."""

import json
import shutil

import pytest
import torch
from tiny import golden_batch, golden_tensors, relative_difference, tiny_model
from places import MODELS
from safetensors.torch import load_file, save_file
from thinwire_train.checkpoint import read_checkpoint, to_hugging_face, write_checkpoint
from thinwire_train.errors import InputError


def test_single_device_gives_the_golden_logits(tiny):
    tensors = golden_tensors(tiny)

    with torch.no_grad():
        logits = tiny_model(tiny).model(golden_batch(tiny, tensors))[0]

    assert relative_difference(logits, tensors["single.logits"]) < 1e-4


def test_every_tensor_survives_reading_and_writing(tiny, tmp_path):
    write_checkpoint(tiny_model(tiny), tmp_path / "copy")

    written = load_file(tmp_path / "copy" / "model.safetensors")
    given = load_file(MODELS / tiny / "model.safetensors")
    assert written.keys() == given.keys()
    for name, tensor in given.items():
        assert torch.equal(written[name], tensor), name
    modes = {path.stat().st_mode for path in (tmp_path / "copy").iterdir()}
    assert len(modes) == 1  # who may read one file may read all


def test_an_encoder_without_head_gives_embeddings_and_keeps_its_unused_pooler(tmp_path):
    tensors = golden_tensors("bert-tiny")
    weights = load_file(MODELS / "bert-tiny" / "model.safetensors")
    bare = {
        name.removeprefix("bert."): tensor.clone()
        for name, tensor in weights.items()
        if not name.startswith("classifier.")
    }
    shutil.copy(MODELS / "bert-tiny" / "config.json", tmp_path)
    save_file(bare, tmp_path / "model.safetensors")

    checkpoint = read_checkpoint(tmp_path)
    with torch.no_grad():
        embedding = checkpoint.model(golden_batch("bert-tiny", tensors))[0]

    assert relative_difference(embedding, tensors["single.mean_pooled"]) < 1e-4
    assert to_hugging_face(checkpoint).keys() == bare.keys()


@pytest.mark.parametrize(
    "change, complaint",
    [
        (lambda weights: weights.pop("classifier.bias"), "classifier.bias is missing"),
        (lambda weights: weights.update(more=torch.zeros(2)), "more belongs to no part"),
        (
            lambda weights: weights.update({"vit.layernorm.weight": torch.zeros(2)}),
            r"layernorm.weight has shape \[2\]",
        ),
    ],
)
def test_weights_that_do_not_fit_are_named(tmp_path, change, complaint):
    weights = load_file(MODELS / "vit-tiny" / "model.safetensors")
    change(weights)
    shutil.copy(MODELS / "vit-tiny" / "config.json", tmp_path)
    save_file(weights, tmp_path / "model.safetensors")

    with pytest.raises(InputError, match=complaint):
        read_checkpoint(tmp_path)


@pytest.mark.parametrize(
    "change, complaint",
    [
        ({"model_type": "t5"}, "model_type"),
        ({"hidden_act": "relu"}, "relu"),
        ({"num_attention_heads": 5}, "5 heads do not divide"),
    ],
)
def test_configurations_that_are_not_supported_are_named(tmp_path, change, complaint):
    keys = json.loads((MODELS / "vit-tiny" / "config.json").read_text(encoding="utf-8"))
    (tmp_path / "config.json").write_text(json.dumps({**keys, **change}), encoding="utf-8")
    shutil.copy(MODELS / "vit-tiny" / "model.safetensors", tmp_path)

    with pytest.raises(InputError, match=complaint):
        read_checkpoint(tmp_path)
