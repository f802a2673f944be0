"""The sweeps of experiments/accuracy: every comparison that the study makes has its points."""

import json

import pytest

from thinwire_analysis.accuracy_frame import codebook_variant
from thinwire_analysis.cli import DEFAULT_REFERENCES

DOCUMENTS = DEFAULT_REFERENCES.parent
KINDS = ("pictures", "sentences", "text")


def points(name):
    return json.loads((DOCUMENTS / f"{name}.json").read_text(encoding="utf-8"))["points"]


def codebooks(name):
    return {p["codebook"].removeprefix("CODEBOOKS/"): p for p in points(name)}


def listed(value):
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("kind", KINDS)
def test_a_codebooks_name_says_what_it_is_used_for(kind):
    for name, point in {**codebooks(f"trace-{kind}"), **codebooks(f"variants-{kind}")}.items():
        assert name.startswith(f"{point['strategy']}-p{point['devices']}-k"), name
        assert name.endswith(".safetensors")


@pytest.mark.parametrize("kind", KINDS)
def test_every_strategy_is_compared_on_two_and_three_devices(kind):
    used = {(p["strategy"], p["devices"]) for p in points(f"trace-{kind}")}

    strategies = ("trace-b", "trace-nb", "astra", "trace-2a", "trace-1b")
    assert {(s, p) for s in strategies for p in (2, 3)} <= used


@pytest.mark.parametrize("kind", KINDS)
def test_points_in_bf16_have_a_counterpart_in_fp32(kind):
    document = json.loads((DOCUMENTS / f"bf16-{kind}.json").read_text(encoding="utf-8"))
    prism = [{"strategy": "prism"} | point for point in points(f"prism-{kind}")]
    in_fp32 = points("exact") + prism + points(f"trace-{kind}")

    assert document["base"] == {"dtype": "bf16"}
    for point in document["points"]:
        assert any(
            all(value in listed(other.get(key)) for key, value in point.items())
            for other in in_fp32
        ), point


@pytest.mark.parametrize("kind", KINDS)
def test_variants_cover_hierarchies_and_updates(kind):
    found = {codebook_variant(name) for name in codebooks(f"variants-{kind}")}

    assert {("ema", "usage"), ("ema", "cosine"), ("gradient", "euclidean")} <= found
    assert ("subspace", "euclidean") in found


def test_figure_9_has_its_devices_and_levels():
    for kind in ("pictures", "text"):
        chosen = [p for p in points(f"trace-{kind}") if p["strategy"] == "trace-b"]
        assert [p["devices"] for p in chosen] == [2, 3, 4, 6, 8, 10]
        assert all(p["active-codewords"] == [2, 4, 8, 32, 1024] for p in chosen)


@pytest.mark.parametrize("kind", KINDS)
def test_prism_has_two_and_three_devices_with_and_without_scaling(kind):
    document = json.loads((DOCUMENTS / f"prism-{kind}.json").read_text(encoding="utf-8"))

    assert document["base"]["scaling"] == ["on", "off"]
    counts = [p["devices"] for p in document["points"]]
    flat = {p for given in counts for p in (given if isinstance(given, list) else [given])}
    assert {2, 3, 4} <= flat
