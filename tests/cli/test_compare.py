"""compare: two result files, pair by pair."""

import json

import pytest

MODELLED = ("--strategy", "voltage", "--rate", "10Mbps,100Mbps", "--device-gflops")


@pytest.fixture
def two_files(thinwire, vit_tiny):
    """Predictions of two devices and three, and of two and four; in B a link row takes twice as long."""
    for name, devices in (("a.jsonl", "2,3"), ("b.jsonl", "2,4")):
        done = thinwire("predict", "--model", vit_tiny, *MODELLED, "1", "--devices", devices, "--json", name)
        assert done.returncode == 0, done.stderr
    first, *rest = thinwire.read("b.jsonl")
    first["time"]["links"][1]["latency_s"]["samples"][0] *= 2
    text = "".join(json.dumps(record) + "\n" for record in (first, *rest))
    (thinwire.folder / "b.jsonl").write_text(text, encoding="utf-8")


def test_ratios_of_pairs_and_what_has_no_partner(thinwire, two_files):
    done = thinwire("compare", "a.jsonl", "b.jsonl")

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 pair; 1 only in A, 1 only in B\n")
    assert "10 Mbps" in done.stdout and "100 Mbps" in done.stdout
    assert "operations and bits are equal in all pairs" in done.stdout
    assert "geometric mean of B / A: 1.414" in done.stdout


def test_the_comparison_as_json(thinwire, two_files):
    done = thinwire("compare", "a.jsonl", "b.jsonl", "--json", "-", "--metric", "latency")

    comparison = json.loads(done.stdout)
    assert comparison["schema"] == "thinwire.comparison/1"
    assert [link["ratio"] for link in comparison["pairs"][0]["links"]] == [1, 2]
    assert comparison["pairs"][0]["links"][0]["ratio_95"] is None  # of one sample


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("a.jsonl",), "two result files are needed"),
        (("a.jsonl", "c.jsonl"), "cannot read c.jsonl"),
        (("a.jsonl", "b.jsonl", "c.jsonl"), "unexpected word 'c.jsonl'"),
        (("a.jsonl", "b.jsonl", "--metric", "latancy"), "did you mean latency?"),
        (("a.jsonl", "b.jsonl", "--json", "no/where.json"), "--json=no/where.json: cannot be written"),
    ],
    ids=["one", "absent", "three", "metric", "place"],
)
def test_wrong_input_is_one_line(arguments, message, thinwire, two_files):
    done = thinwire("compare", *arguments)

    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
