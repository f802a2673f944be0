"""experiments/beyond: the search for the slowest link that is worth it, and the table of losses."""

import json
import os
import subprocess
import sys

import pytest
from places import BINARY, REPOSITORY

ROOM = REPOSITORY / "experiments" / "beyond"
TIMEOUT_S = 120
# Rates are found to 1e-5.
TOLERANCE = 2e-5


@pytest.fixture
def search(tmp_path):
    """Writes a document, searches, returns the records; or what was said when that fails."""

    def run_search(document, *options):
        path = tmp_path / "points.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        out = tmp_path / "found.jsonl"
        done = subprocess.run(
            [sys.executable, ROOM / "break_even.py", path, "--json", out, *options],
            capture_output=True, text=True, timeout=TIMEOUT_S,
            env={**os.environ, "THINWIRE": str(BINARY)},
        )
        if done.returncode != 0:
            return done.stderr
        return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]

    return run_search


def document(*points, tokens=256):
    base = {"model": "bert-base", "tokens": tokens, "device-gflops": 10, "clock": "modelled"}
    return {"base": base, "points": [{"strategy": "single", "devices": 1}, *points]}


def latencies_s(record):
    return [link["latency_s"]["p50"] for link in record["time"]["links"]]


def rate(record):
    return record["time"]["links"][0]["link"]["rate_bit_per_s"]


@pytest.mark.parametrize("devices", [2, 4])
def test_voltage_breaks_even_where_its_messages_take_what_it_saves(search, devices):
    single, split = search(
        document({"strategy": "voltage", "devices": devices, "topology": "broadcast"})
    )

    at_rate_s, unlimited_s = latencies_s(split)
    alone_s = latencies_s(single)[0]
    bits = split["traffic"]["exchanges"] * split["traffic"]["nominal_bits_per_exchange"]
    assert rate(split) == pytest.approx(bits / (alone_s - unlimited_s), rel=TOLERANCE)
    assert at_rate_s == pytest.approx(alone_s, rel=TOLERANCE)


def test_a_list_in_a_point_is_one_point_an_entry(search):
    found = search(document({
        "strategy": "voltage", "devices": [2, 4], "topology": ["broadcast", "unicast"]}))

    split = {(r["spec"]["devices"], *r["spec"]["topology"]): rate(r) for r in found[1:]}
    assert len(split) == 4
    # Of four devices each sends to three others in turn.
    assert split[4, "unicast"] == pytest.approx(3 * split[4, "broadcast"], rel=TOLERANCE)
    assert split[2, "unicast"] == pytest.approx(split[2, "broadcast"], rel=TOLERANCE)


def test_faster_devices_need_a_faster_link_in_proportion(search):
    points = document({"strategy": "prism", "devices": 2, "segments": 16})

    slow = rate(search(points)[-1])
    fast = rate(search(points, "--device-gflops", "40")[-1])

    assert fast == pytest.approx(4 * slow, rel=TOLERANCE)


def test_a_pipeline_never_wins_with_one_input_and_does_with_several(search):
    _, one, several = search(
        document({"strategy": "pipeline", "devices": 2, "micro-batches": [1, 8]})
    )

    assert [link["link"]["rate_bit_per_s"] for link in one["time"]["links"]] == [None]
    assert 0 < rate(several) < 1e9


def test_errors_are_one_line(search):
    alone = document()
    alone["points"] = [{"strategy": "voltage", "devices": 2}]

    assert search(alone) == "error: no point with strategy single for " + str(
        {**alone["base"], **alone["points"][0]}) + "\n"
    assert "prims" in search(document({"strategy": "prims", "devices": 2}))


class TestLossTable:
    @staticmethod
    def scored(loss=0, agreement=1.0, counted=True):
        losses = {"lost_rows_fraction": loss} if loss else None
        return {
            "status": "ok",
            "spec": {"model": "vit", "devices": 2, "strategy": "voltage", "loss": loss,
                     "on-loss": "skip"},
            "accuracy": {"metric": "accuracy", "value": 0.65, "samples": 100,
                         "interval_95": [0.55, 0.74], "agreement": {"top1": agreement}},
            "traffic": {"losses": losses}, "checks": {"counted_equals_predicted": counted},
        }  # fmt: skip

    @staticmethod
    def timed():
        link = {"rate_bit_per_s": 250e3}
        return {
            "status": "ok", "spec": {"strategy": "voltage", "loss": 0},
            "time": {"links": [{"link": link, "latency_s": {"mean": 0.5, "p99": 0.75}}]},
            "checks": {},
        }  # fmt: skip

    @pytest.fixture
    def show(self, tmp_path):
        def run_table(*scored):
            files = {"accuracy.jsonl": scored, "latency.predicted": [self.timed()]}
            for name, records in files.items():
                lines = "".join(json.dumps(record) + "\n" for record in records)
                (tmp_path / name).write_text(lines, encoding="utf-8")
            done = subprocess.run(
                [sys.executable, ROOM / "loss_table.py", tmp_path],
                capture_output=True, text=True, timeout=TIMEOUT_S,
            )  # fmt: skip
            assert done.stderr == ""
            return done.returncode, done.stdout

        return run_table

    def test_says_units_samples_and_how_far_chance_goes(self, show):
        code, text = show(self.scored(), self.scored(0.5, 0.8))

        assert code == 0
        assert "## Top-1, %, of 100 samples (95 % intervals: up to ±9.5)" in text
        assert "| strategy | on-loss | 0 % | 50 % |" in text
        assert "| voltage | skip | 65.0 | 65.0 |" in text
        assert "| voltage | 0.0 | 50.0 |" in text
        assert "| voltage | 0.25 Mbit/s | 500.0 (750.0) |" in text
        assert text.count("pass  ") == 3 and "FAIL" not in text

    def test_fails_where_a_claim_does_not_hold(self, show):
        code, text = show(self.scored(agreement=0.99), self.scored(0.5, counted=False))

        assert code == 1
        assert "FAIL  where nothing is lost voltage answers as one device: 99 %" in text
        assert "FAIL  counted figures are the predicted ones: 1 of 2" in text

    def test_nothing_without_losses_is_no_pass(self, show):
        code, text = show(self.scored(0.5, 0.8))

        assert code == 1
        assert "FAIL  where nothing is lost" in text
