"""The Vision Transformer that newcomers train in NumPy: thinwire's answers, and that it learns."""

import json

import numpy as np
import pytest

pytest.importorskip("safetensors", reason="the package safetensors is missing")
pytest.importorskip("autograd", reason="the package autograd is missing")

SIDE, LABELS = 8, 3


@pytest.fixture(scope="module")
def shape():
    from thinwire_prepare.small_vit import Shape

    return Shape(side=SIDE, patch=2, hidden=24, layers=2, heads=3, ffn=48, labels=LABELS)


def striped(count, generator):
    """Pictures whose class is where their bright rows are."""
    labels = generator.integers(0, LABELS, count).astype(np.int32)
    images = generator.integers(0, 90, (count, SIDE, SIDE, 3)).astype(np.uint8)
    for image, label in zip(images, labels):
        image[2 * label : 2 * label + 2] += 120
    return images, labels


def test_thinwire_gives_the_logits_of_numpy(script, shape):
    from safetensors.numpy import load_file
    from thinwire_prepare.data_file import write_data_file
    from thinwire_prepare.model_folder import write_vit
    from thinwire_prepare.small_vit import cut_patches, initial_weights, logits
    from thinwire_prepare.small_vit_training import normalise

    generator = np.random.default_rng(3)
    images, labels = striped(4, generator)
    weights = initial_weights(shape, generator)
    write_vit(script.folder / "vit", weights, shape, ["a", "b", "c"], 0.3, 0.35)
    write_data_file(script.folder / "data.safetensors", {"image": images, "label": labels}, {})

    record = script.run_thinwire("--model", "vit", "--input", "data.safetensors", "--sample", 2,
                                 "--outputs", "outputs.safetensors")

    ours = load_file(script.folder / "outputs.safetensors")["logits"].reshape(-1)
    wanted = logits(weights, cut_patches(normalise(images, 0.3, 0.35), 2), shape)[2]
    assert record["spec"]["tokens"] == shape.tokens
    assert wanted.dtype == np.float32
    assert np.abs(ours - wanted).max() <= 1e-4 * np.abs(wanted).max()
    config = json.loads((script.folder / "vit" / "config.json").read_text())
    assert config["id2label"] == {"0": "a", "1": "b", "2": "c"}


def test_training_learns_and_repeats_itself(shape):
    from thinwire_prepare.small_vit_training import Options, accuracy, normalise, train

    generator = np.random.default_rng(5)
    images, labels = striped(120, generator)
    pixels = normalise(images, 0.3, 0.35)
    options = Options(epochs=20, batch=30)

    weights = train(pixels[:90], labels[:90], shape, options)
    again = train(pixels[:90], labels[:90], shape, options)

    assert accuracy(weights, pixels[90:], labels[90:], shape) > 0.9
    assert all(np.array_equal(values, again[name]) for name, values in weights.items())


def test_pictures_move_sideways_and_their_edge_follows():
    from thinwire_prepare.small_vit_training import shifted

    pixels = np.tile(np.arange(4.0)[None, None, :, None], (50, 1, 1, 3))
    moved = shifted(pixels, 1, np.random.default_rng(0))

    seen = {tuple(picture[0, :, 0]) for picture in moved}
    assert seen == {(0, 0, 1, 2), (0, 1, 2, 3), (1, 2, 3, 3)}
