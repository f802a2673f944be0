"""`--payload`: rows that voltage and prism send in fp16, bf16 or int8."""

import json

import data_files
import jsonschema
import pytest
from places import MODELS

FAST = ("--iterations", "1", "--warmup", "0")
STRATEGIES = {
    "voltage": ("--strategy", "voltage"),
    "prism": ("--strategy", "prism", "--segments", "2"),
    "prism duplicate": ("--strategy", "prism", "--segments", "2", "--scaling", "duplicate"),
}
HIDDEN = 48  # of the tiny models


def row_bits(payload):
    bits = {"fp32": 32 * HIDDEN, "fp16": 16 * HIDDEN, "bf16": 16 * HIDDEN, "int8": 8 * HIDDEN + 32}
    return bits[payload]


def payload_bits(record):
    return record["traffic"]["per_device"]["payload_bits"]


@pytest.mark.parametrize("payload", ["fp16", "bf16", "int8"])
@pytest.mark.parametrize("options", STRATEGIES.values(), ids=STRATEGIES)
def test_fewer_bits_are_counted_as_predicted_and_called_inexact(options, payload, thinwire, schema):
    run = (
        "run", "--model", MODELS / "vit-tiny", *options, "--devices", "3", "--agreement", "on",
        *FAST,
    )  # fmt: skip
    (fp32,) = thinwire.records(*run)
    (thinwire.folder / "result.jsonl").unlink()

    (reduced,) = thinwire.records(*run, "--payload", payload)

    jsonschema.Draft202012Validator(schema).validate(reduced)
    assert reduced["checks"]["counted_equals_predicted"] is True
    assert reduced["spec"]["payload"] == payload
    assert reduced["memory"]["held_bytes"] == reduced["memory"]["activations_bytes"]
    assert [32 * HIDDEN * bits for bits in payload_bits(reduced)] == [
        row_bits(payload) * bits for bits in payload_bits(fp32)
    ]
    assert reduced["operations"] == fp32["operations"]
    agreement = reduced["checks"]["agreement"]
    assert agreement["exact"] is None and agreement["broken"] == []
    if "voltage" in options:
        assert agreement["output_cosine"] > 0.999


@pytest.mark.parametrize("options", STRATEGIES.values(), ids=STRATEGIES)
def test_a_terminal_sends_reduced_payloads_too(options, thinwire):
    (record,) = thinwire.records(
        "run", "--model", MODELS / "gpt2-tiny", *options, "--devices", "3", "--io", "terminal",
        "--payload", "int8", *FAST,
    )  # fmt: skip

    assert record["checks"]["counted_equals_predicted"] is True


def test_what_is_printed_names_the_payload_and_no_exactness(thinwire, vit_tiny):
    done = thinwire(
        "run", "--model", vit_tiny, *STRATEGIES["voltage"], "--devices", "2", "--payload", "int8",
        "--agreement", "on", *FAST,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "int8 payload" in done.stdout
    assert "exact" not in done.stdout.lower()


def test_fp32_is_what_it_was_without_the_option(thinwire, vit_tiny):
    options = ("--model", vit_tiny, "--strategy", "voltage", "--devices", "2", "--json", "-")
    without, given = (
        json.loads(thinwire("predict", *options, *more).stdout)
        for more in ((), ("--payload", "fp32"))
    )

    assert without["id"] == given["id"]
    assert without["traffic"] == given["traffic"]
    assert "payload" not in without["spec"] and "payload" not in given["spec"]


def test_predict_equals_a_modelled_sweep(thinwire, vit_tiny):
    options = (
        "--model", vit_tiny, "--strategy", "prism", "--compression-rate", "3", "--devices", "3",
        "--payload", "fp32,fp16,int8", "--io", "replicated,terminal", "--clock", "modelled",
        "--device-gflops", "1", "--rate", "1Mbps,100Mbps", *FAST,
    )  # fmt: skip

    measured = thinwire.records("sweep", *options)
    done = thinwire("predict", *options, "--json", "predicted.jsonl")

    assert done.returncode == 0, done.stderr
    predicted = thinwire.read("predicted.jsonl")
    assert len(measured) == len(predicted) == 6
    assert len({record["id"] for record in measured}) == 6
    for ours, theirs in zip(measured, predicted):
        assert ours["traffic"]["per_device"] == theirs["traffic"]["per_device"]
        assert ours["time"]["links"] == theirs["time"]["links"]
        assert ours["memory"]["activations_bytes"] == theirs["memory"]["activations_bytes"]


def test_a_quarter_of_the_bits_takes_a_quarter_of_the_transfer(thinwire):
    options = (
        "predict", "--model", "vit-base-16", "--strategy", "voltage", "--devices", "2",
        "--device-gflops", "100", "--rate", "10Mbps", "--json", "-",
    )  # fmt: skip
    fp32, int8 = (
        json.loads(thinwire(*options, "--payload", payload).stdout) for payload in ("fp32", "int8")
    )

    def wait_s(record):
        return record["time"]["links"][0]["wait_s"]["p50"]

    # a row of 768 bytes and a scale for one of 3072
    assert wait_s(int8) == pytest.approx(wait_s(fp32) * 772 / 3072, rel=0.02)
    assert int8["traffic"]["compression_rate"] == pytest.approx(3072 / 772)


def test_a_wall_clock_paces_the_fewer_bytes(thinwire, vit_tiny):
    (record,) = thinwire.records(
        "run", "--model", vit_tiny, *STRATEGIES["voltage"], "--devices", "2", "--payload", "int8",
        "--clock", "throttled", "--rate", "100Mbps", *FAST,
    )  # fmt: skip

    assert record["checks"]["counted_equals_predicted"] is True


@pytest.mark.parametrize("strategy", ["tensor", "pipeline", "trace-b", "trace-nb", "astra"])
def test_other_strategies_refuse_it(strategy, thinwire, vit_tiny):
    done = thinwire(
        "run", "--model", vit_tiny, "--strategy", strategy, "--devices", "2", "--payload", "int8"
    )

    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    for text in ("--payload=int8", strategy, "only voltage and prism"):
        assert text in done.stderr


def test_an_unknown_format_is_refused_with_the_known_ones(thinwire, vit_tiny):
    done = thinwire("run", "--model", vit_tiny, "--devices", "2", "--payload", "int4")

    assert done.returncode == 2
    for text in ("--payload=int4", "fp32", "fp16", "bf16", "int8"):
        assert text in done.stderr


def test_a_plan_says_that_it_changes_the_answer(thinwire):
    plan = (
        "plan", "--devices", "3", "--device-gflops", "160", "--rate", "50Mbps",
        "--strategy", "single,voltage",
    )  # fmt: skip
    plain = json.loads(thinwire(*plan, "--json", "-").stdout)
    done = thinwire(*plan, "--payload", "fp32,int8")
    exact = json.loads(thinwire(*plan, "--payload", "int8", "--exact", "--json", "-").stdout)

    assert len(plain["candidates"]) == 2
    assert "voltage --payload int8" in done.stdout and "--payload int8" in done.stdout
    assert "changes, accuracy unknown" in done.stdout
    (reduced,) = (c for c in exact["candidates"] if c["options"]["strategy"] == "voltage")
    assert reduced["changes_answer"] is True and "--exact" in reduced["excluded"]


def test_a_data_set_is_scored_with_it(thinwire, tmp_path, schema):
    data = data_files.pictures(tmp_path / "pictures.safetensors", samples=5)

    fp32, int8 = thinwire.records(
        "eval", "--model", MODELS / "vit-tiny", "--data", data, *STRATEGIES["voltage"],
        "--devices", "3", "--payload", "fp32,int8", "--agreement", "on",
    )  # fmt: skip

    jsonschema.Draft202012Validator(schema).validate(int8)
    assert int8["checks"]["counted_equals_predicted"] is True
    assert (fp32["spec"].get("payload"), int8["spec"]["payload"]) == (None, "int8")
    bits = [record["accuracy"]["bits_per_inference"] for record in (fp32, int8)]
    assert bits[1] * row_bits("fp32") == bits[0] * row_bits("int8")
    differences = [r["accuracy"]["agreement"]["largest_relative_difference"] for r in (fp32, int8)]
    assert differences[0] < 1e-4 < differences[1]
