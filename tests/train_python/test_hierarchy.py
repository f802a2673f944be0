"""Levels of a codebook: those of thinwire, and by hand."""

import torch
from places import BINARY, MODELS
from safetensors.torch import load_file
from thinwire_train.hierarchy import build_hierarchy, default_levels, k_medoids
from tiny import call


def test_levels_are_those_that_thinwire_makes(data_files, tmp_path):
    made = call([BINARY, "codebook", "train", "--model", MODELS / "vit-tiny", "--input",
                 data_files["vit-tiny"], "--samples", "0..23", "--strategy", "trace-b",
                 "--devices", 2, "--codewords", 40, "--out", "books.safetensors"], tmp_path)
    assert made.returncode == 0, made.stderr
    tensors = load_file(tmp_path / "books.safetensors")

    for exchange in range(3):
        permutation = build_hierarchy(tensors[f"codebook.{exchange}"], default_levels(40))
        assert torch.equal(permutation, tensors[f"hierarchy.{exchange}"])


def test_medoids_are_in_the_middle_of_their_clusters():
    points = torch.tensor([0.0, 1.0, 2.0, 50.0, 51.0, 52.0])

    medoids = k_medoids((points[:, None] - points).abs(), 2)

    assert medoids.tolist() == [1, 4]


def test_equal_codewords_still_make_a_permutation():
    permutation = build_hierarchy(torch.ones(9, 3), default_levels(9))

    assert sorted(permutation.tolist()) == list(range(9))
    assert default_levels(32) == [2, 4, 8, 32]
