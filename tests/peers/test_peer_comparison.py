"""Medians, ratios and verdicts of seconds."""

import comparison
import numpy as np
import pytest
from comparison import CEILING, OURS, OURS_FP32


def seconds(**medians):
    """Three rounds around each median, by name."""
    return {name.replace("_", "-"): [0.9 * value, value, 1.2 * value]
            for name, value in medians.items()}


def test_summary_is_of_the_ordered_seconds():
    summary = comparison.summarise([5, 1, 4, 2, 3, 11, 6, 7, 8, 9, 10])

    assert summary == comparison.Summary(median=6, tenth=2, ninetieth=10, lowest=1)


@pytest.mark.parametrize("model, threads, ours, holds", [
    ("vit-base-16", 2, 0.97, True), ("vit-base-16", 2, 0.98, False),
    ("gpt2", 2, 0.95, True), ("gpt2", 2, 0.96, False), ("gpt2", 1, 1.0, True),
    ("bert-base", 1, 1.01, False)])
def test_ratio_to_the_best_peer_is_held_against_its_target(model, threads, ours, holds):
    given = seconds(thinwire=ours, openvino=1.0, zentorch=1.5)

    verdict, = comparison.judge(model, threads, "fp32", given)

    assert verdict.ratio == pytest.approx(ours)
    assert verdict.holds == holds
    assert verdict.line().startswith("pass" if holds else "FAIL")
    assert "openvino, the best peer" in verdict.line()


def test_ceiling_is_no_peer():
    given = seconds(thinwire=1.04, ceiling=1.0, openvino=2.0)

    to_peer, to_ceiling = comparison.judge("vit-base-16", 2, "fp32", given)

    assert comparison.best_peer(given) == "openvino"
    assert to_peer.ratio == pytest.approx(0.52)
    assert to_ceiling.ratio == pytest.approx(1.04) and to_ceiling.holds
    assert not comparison.compare(given, CEILING, 1.03).holds


def test_spread_is_of_the_ratios_round_by_round():
    given = {OURS: [1, 2, 3, 4, 5], "openvino": [2, 2, 2, 2, 2]}

    verdict = comparison.compare(given, "openvino", None)

    assert verdict.quartiles == (1.0, 2.0)
    assert verdict.holds and "no target" in verdict.line()


@pytest.mark.parametrize("bf16, holds", [(0.62, True), (0.63, False)])
def test_bf16_is_held_against_our_fp32_alone(bf16, holds):
    given = seconds(thinwire=bf16, thinwire_fp32=1.0, openvino=0.5)

    to_peer, to_fp32 = comparison.judge("vit-base-16", 2, "bf16", given)

    assert OURS_FP32 in given and to_fp32.holds == holds
    assert to_peer.target is None and to_peer.against.startswith("openvino")


def test_without_peers_there_is_no_best_one():
    assert comparison.best_peer(seconds(thinwire=1.0, ceiling=0.9)) is None
    assert comparison.judge("vit-base-16", 2, "fp32", seconds(thinwire=1.0)) == []


@pytest.mark.parametrize("ours, theirs, difference", [
    ([1, 2, 4], [1, 2, 4], 0), ([1, 2, 4], [1, 2.5, 5], 0.2), ([1, 2], [1, 2, 3], float("inf")),
    ([1, float("nan")], [1, 2], float("inf"))])
def test_outputs_differ_by_part_of_the_largest(ours, theirs, difference):
    values = (np.array(values, dtype=np.float32) for values in (ours, theirs))

    assert comparison.relative_difference(*values) == pytest.approx(difference)
