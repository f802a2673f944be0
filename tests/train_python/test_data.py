"""Data files become batches; what does not fit is named."""

from dataclasses import replace

import pytest
import torch
from tiny import tiny_model
from safetensors.torch import save_file
from thinwire_train.data import NO_TARGET, open_data
from thinwire_train.errors import InputError
from thinwire_train.losses import task_loss, wanted_cosines
from thinwire_train.models import Transformer, initialise
from thinwire_train.scoring import score, spearman


def test_pictures_are_scaled_as_thinwire_scales_them(tmp_path):
    image = torch.zeros(1, 32, 32, 3, dtype=torch.uint8)
    image[0, 1, 2, 0] = 255
    save_file({"image": image, "label": torch.tensor([3])}, tmp_path / "data.safetensors")

    data = open_data(tmp_path / "data.safetensors", tiny_model("vit-tiny").config)
    batch, target = data.batch(torch.tensor([0]))

    assert batch.pixels.shape == (1, 3, 32, 32)
    assert batch.pixels[0, 0, 1, 2] == 1.0 and batch.pixels[0, 0, 0, 0] == -1.0  # 0.5 and 0.5
    assert target.label.tolist() == [3]


def test_pictures_move_and_turn_in_training_alone(data_files):
    data = open_data(data_files["vit-tiny"], tiny_model("vit-tiny").config)
    indices = torch.arange(8)

    plain, _ = data.batch(indices)
    changed, _ = data.batch(indices, torch.Generator().manual_seed(1))
    again, _ = data.batch(indices, torch.Generator().manual_seed(1))

    assert torch.equal(plain.pixels, data.batch(indices)[0].pixels)
    assert torch.equal(changed.pixels, again.pixels)
    assert not torch.equal(changed.pixels, plain.pixels)


def test_windows_of_bytes_start_anywhere_in_training(data_files):
    data = open_data(data_files["gpt2-tiny"], tiny_model("gpt2-tiny").config, window=20)

    plain, target = data.batch(torch.tensor([0, 29]))
    moved, _ = data.batch(torch.arange(30), torch.Generator().manual_seed(1))

    assert len(data) == 30 and torch.equal(plain.ids[1], data.text[580:600])
    assert torch.equal(target.ids, plain.ids)
    assert moved.ids.shape == (30, 20)


def test_lengths_become_padding(tmp_path):
    tensors = {"input_ids": torch.ones(2, 5, dtype=torch.int32),
               "length": torch.tensor([2, 5], dtype=torch.int32),
               "score": torch.tensor([2.5])}
    save_file(tensors, tmp_path / "pairs.safetensors")
    encoder = replace(tiny_model("bert-tiny").config, head="mean_pooling", labels=0)

    data = open_data(tmp_path / "pairs.safetensors", encoder)
    batch, target = data.batch(torch.tensor([0]))

    assert len(data) == 1  # one pair
    assert batch.real.sum(dim=1).tolist() == [2, 5]
    assert target.ids[0].tolist() == [1, 1, NO_TARGET, NO_TARGET, NO_TARGET]
    assert wanted_cosines(target).tolist() == [0.5]
    with pytest.raises(InputError, match="a label for every row of the 2 rows is needed, 0 are"):
        open_data(tmp_path / "pairs.safetensors", tiny_model("bert-tiny").config)


def test_heads_of_one_output_learn_numbers(tmp_path):
    tensors = {"input_ids": torch.arange(15).view(3, 5), "attention_mask": torch.ones(3, 5),
               "score": torch.tensor([1.0, 2.0, 5.0])}
    save_file(tensors, tmp_path / "scores.safetensors")
    regression = replace(tiny_model("bert-tiny").config, labels=1)

    data = open_data(tmp_path / "scores.safetensors", regression)
    _, target = data.batch(torch.arange(3))

    given = torch.tensor([[1.0], [2.0], [2.0]])
    assert task_loss(regression, given, target).item() == pytest.approx(3.0)
    model = Transformer(regression)
    initialise(model, torch.Generator().manual_seed(0))
    assert score(model, data).metric == "spearman"


def test_scores_of_random_models_are_chance(data_files, tiny):
    checkpoint = tiny_model(tiny)
    data = open_data(data_files[tiny], checkpoint.config)

    found = score(checkpoint.model, data, limit=8)

    assert found.samples == 8
    if tiny == "gpt2-tiny":
        assert found.metric == "bits_per_byte" and found.value > 6
    else:
        assert found.metric == "accuracy" and 0 <= found.value <= 1


def test_equal_values_share_the_mean_of_their_ranks():
    assert spearman([1, 2, 2, 4], [10, 30, 30, 90]) == pytest.approx(1.0)
    assert spearman([1, 2, 3, 4], [1, 3, 3, 2]) == pytest.approx(1.5 / (5 * 4.5) ** 0.5)


@pytest.mark.parametrize(
    "model, tensors, complaint",
    [
        ("vit-tiny", {"label": torch.zeros(1)}, "tensor image is missing"),
        (
            "vit-tiny",
            {"image": torch.zeros(1, 28, 28, 3, dtype=torch.uint8), "label": torch.zeros(1)},
            r"\[32, 32, 3\]",
        ),
        (
            "vit-tiny",
            {"image": torch.zeros(1, 32, 32, 3, dtype=torch.uint8), "label": torch.tensor([10])},
            "model of 10 classes",
        ),
        ("bert-tiny", {"input_ids": torch.full((1, 4), 200)}, "knows 200 tokens"),
        ("bert-tiny", {"input_ids": torch.ones(1, 4).int()}, "attention_mask or length"),
        ("gpt2-tiny", {"valid": torch.zeros(99, dtype=torch.uint8)}, "holds valid, nothing"),
    ],
)
def test_files_that_do_not_fit_are_named(tmp_path, model, tensors, complaint):
    save_file(tensors, tmp_path / "data.safetensors")

    with pytest.raises(InputError, match=complaint):
        open_data(tmp_path / "data.safetensors", tiny_model(model).config)


def test_a_file_that_is_none_is_named(tmp_path):
    (tmp_path / "data.safetensors").write_text("no tensors", encoding="utf-8")

    with pytest.raises(InputError, match="--data=.*cannot be read"):
        open_data(tmp_path / "data.safetensors", tiny_model("vit-tiny").config)
