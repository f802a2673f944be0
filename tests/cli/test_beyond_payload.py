"""experiments/beyond/payload: the study's options, and its verdicts on made-up records."""

import json
import subprocess
import sys

import pytest
from places import REPOSITORY

ROOM = REPOSITORY / "experiments" / "beyond"
TIMEOUT_S = 60


def record(payload, value, metric="accuracy", bits=1000, counted=True):
    spec = {"strategy": "voltage", "devices": 2, "segments": None, "compression-rate": None}
    if payload != "fp32":
        spec["payload"] = payload
    return {
        "status": "ok",
        "spec": spec,
        "accuracy": {"metric": metric, "value": value, "agreement": {"output_cosine": 0.99}},
        "traffic": {"nominal_bits_per_inference": bits},
        "checks": {"counted_equals_predicted": counted},
    }


@pytest.fixture
def judge(tmp_path):
    def run(*records):
        path = tmp_path / "made-up.jsonl"
        path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
        command = [sys.executable, ROOM / "payload.py", path]
        return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)

    return run


def test_few_points_lost_at_a_quarter_of_the_bits_pass(judge):
    int8, fp16 = record("int8", 0.718, bits=255), record("fp16", 0.5, bits=500)

    done = judge(record("fp32", 0.72), int8, fp16)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "int8 loses at most 0.200 points in 1 settings" in done.stdout
    assert done.stdout.count("pass ") == 3


@pytest.mark.parametrize("records", [
    [record("fp32", 0.72), record("int8", 0.716, bits=255)],
    [record("fp32", 2.0, "bits_per_byte"), record("int8", 2.007, "bits_per_byte", bits=255)],
    [record("fp32", 0.72), record("int8", 0.72, bits=290)],
    [record("fp32", 0.72), record("int8", 0.72, bits=255, counted=False)],
    [record("fp32", 0.72), record("fp16", 0.72, bits=500)],
], ids=["accuracy", "loss", "bits", "count", "absent"])  # fmt: skip
def test_what_is_missed_fails(records, judge):
    done = judge(*records)

    assert done.returncode == 1
    assert "FAIL" in done.stdout


def test_a_lower_loss_loses_nothing(judge):
    full, int8 = (record(p, v, "bits_per_byte", bits=b) for p, v, b in
                  (("fp32", 2.0, 1000), ("int8", 1.9, 255)))  # fmt: skip

    done = judge(full, int8)

    assert done.returncode == 0
    assert "-5.000" in done.stdout


def test_help_and_bad_options():
    def run(*arguments):
        return subprocess.run(
            [ROOM / "payload.sh", *arguments], capture_output=True, text=True, timeout=TIMEOUT_S
        )

    help_text, unknown, lacking = run("--help"), run("--fast"), run("--json")

    assert help_text.returncode == 0
    for name in ("--quick", "--resume", "--json DIR", "THINWIRE", "Exit status"):
        assert name in help_text.stdout
    assert unknown.returncode == 2 and "unknown argument --fast" in unknown.stderr
    assert lacking.returncode == 2 and "--json needs a value: --json DIR" in lacking.stderr
