"""Search, moving averages and k-means of a codebook, on numbers that can be checked by hand."""

import pytest
import torch
from thinwire_train.codebook import DECAY, Codebook, plus_plus


def book(rows, similarity="cosine", update="ema"):
    return Codebook(torch.tensor([rows]), similarity, update)


def test_cosine_search_ignores_length_and_breaks_ties_by_the_lowest_index():
    codebook = book([[0.0, 0.0], [10.0, 0.0], [0.0, 1.0], [0.0, 2.0]])

    found = codebook.nearest(torch.tensor([[0.1, 0.0], [0.0, 5.0], [0.0, 0.0]]))

    assert found[:, 0].tolist() == [1, 2, 0]


def test_squared_search_goes_by_distance():
    codebook = book([[10.0, 0.0], [1.0, 1.0]], similarity="squared")

    assert codebook.nearest(torch.tensor([[2.0, 0.0]]))[0, 0] == 1


def test_groups_are_searched_and_looked_up_on_their_own():
    codebook = Codebook(torch.tensor([[[0.0], [1.0]], [[5.0], [7.0]]]), "squared")

    indices = codebook.nearest(torch.tensor([[0.9, 5.1], [0.2, 9.0]]))

    assert indices.tolist() == [[1, 0], [0, 1]]
    assert codebook.lookup(indices).tolist() == [[1.0, 5.0], [0.0, 7.0]]


def test_averages_follow_a_batch_from_what_the_codewords_are():
    codebook = book([[1.0, 0.0], [0.0, 1.0]])
    rows = torch.tensor([[[3.0, 0.0], [5.0, 0.0], [0.0, 2.0]]])

    codebook.quantise(rows)
    codebook.follow(torch.Generator().manual_seed(0))

    # Two rows of mean 4 beside a sum of 2 codewords of 1, in parts of 0.01 and 0.99.
    assert codebook.codewords[0, 0, 0].item() == pytest.approx(DECAY * 1 + (1 - DECAY) * 4)
    assert codebook.usage[0, 0].item() == pytest.approx(2.0)


def test_padding_rows_count_in_no_statistics():
    codebook = book([[1.0, 0.0], [0.0, 1.0]])
    rows = torch.tensor([[[3.0, 0.0], [900.0, 0.0], [0.0, 1.0]]])

    _, commitment, _ = codebook.quantise(rows, torch.tensor([[True, False, True]]))
    codebook.follow(torch.Generator().manual_seed(0))

    assert commitment.item() == pytest.approx((2.0**2) / 4)
    assert codebook.codewords[0, 0, 0].item() == pytest.approx(1 + 0.01 * 2, rel=1e-2)


def test_a_codeword_that_nothing_hits_is_seeded_from_the_batch():
    codebook = book([[1.0, 0.0], [-1.0, 0.0]])
    rows = torch.tensor([[[3.0, 0.1], [5.0, 0.2]]])

    while codebook.codewords[0, 1, 0] < 0:
        before = codebook.usage[0, 1].item()
        codebook.quantise(rows)
        codebook.follow(torch.Generator().manual_seed(0))

    assert before * DECAY < 1  # and not sooner
    assert codebook.codewords[0, 1].tolist() in rows[0].tolist()
    assert codebook.usage[0, 1].item() == 1


def test_gradients_move_codewords_towards_their_rows_and_rows_towards_codewords():
    codebook = book([[1.0, 0.0], [0.0, 1.0]], update="gradient")
    rows = torch.tensor([[[3.0, 0.0]]], requires_grad=True)

    quantised, commitment, pull = codebook.quantise(rows)
    (quantised.sum() + commitment + pull).backward()

    assert quantised.tolist() == [[[1.0, 0.0]]]
    # Straight through: 1; commitment: (3 - 1) 2 / 2 elements.
    assert rows.grad.tolist() == [[[3.0, 1.0]]]
    assert codebook.codewords.grad.tolist() == [[[-2.0, 0.0], [0.0, 0.0]]]


def test_k_means_finds_separate_clusters():
    generator = torch.Generator().manual_seed(0)
    centres = torch.tensor([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
    rows = (centres[:, None] + 0.1 * torch.randn(3, 50, 2, generator=generator)).flatten(0, 1)
    codebook = Codebook(torch.zeros(1, 3, 2), "squared")

    codebook.fit(rows, generator)

    found = torch.cdist(codebook.codewords[0], centres)
    assert sorted(found.argmin(dim=1).tolist()) == [0, 1, 2]
    assert float(found.amin(dim=1).max()) < 0.1


def test_seeding_draws_more_centres_than_there_are_different_rows():
    assert plus_plus(torch.ones(2, 3), 4, torch.Generator().manual_seed(0)).shape == (4, 3)
