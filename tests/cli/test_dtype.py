"""--dtype: what products multiply, in every command that runs models."""

import json

import jsonschema
import pytest
from places import GOLDEN, MODELS, SCHEMA
from test_cli_strategies import read_safetensors

FAST = ("--iterations", "2", "--warmup", "0")
BF16 = ("--dtype", "bf16")
# As a CPU without the instructions would answer.
OLD_CPU = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE", "DNNL_MAX_CPU_ISA": "AVX512_CORE"}
STRATEGIES = {
    "voltage": ("--strategy", "voltage"),
    "prism": ("--strategy", "prism", "--segments", "2"),
    "tensor": ("--strategy", "tensor"),
    "pipeline": ("--strategy", "pipeline"),
    "astra": ("--strategy", "astra", "--groups", "3"),
    "trace-b": ("--strategy", "trace-b"),
    "trace-nb": ("--strategy", "trace-nb"),
}


def run(thinwire, *options):
    """The record and the outputs of a run of vit-tiny."""
    (record,) = thinwire.records(
        "run", "--model", MODELS / "vit-tiny", *options, *FAST, "--outputs", "out.safetensors"
    )
    (thinwire.folder / "result.jsonl").unlink()
    return record, read_safetensors(thinwire.folder / "out.safetensors")["logits"]


def assert_near(ours, expected, part):
    largest = max(abs(value) for value in expected)
    assert max(abs(a - b) for a, b in zip(ours, expected, strict=True)) <= part * largest


@pytest.mark.usefixtures("has_bf16")
@pytest.mark.parametrize("devices", ["2", "3"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_bf16_over_ranks_counts_as_fp32_and_answers_nearly_so(strategy, devices, thinwire):
    options = [*STRATEGIES[strategy], "--devices", devices]
    if strategy in ("astra", "trace-b", "trace-nb"):
        options += ["--codebook", GOLDEN / "vit-tiny.safetensors"]

    fp32, expected = run(thinwire, *options)
    bf16, logits = run(thinwire, *options, *BF16)

    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(bf16)
    assert (fp32["spec"]["dtype"], bf16["spec"]["dtype"]) == ("fp32", "bf16")
    assert bf16["checks"]["counted_equals_predicted"] is True
    for section in ("operations", "traffic"):
        assert bf16[section] == fp32[section]
    assert bf16["memory"]["activations_bytes"] == fp32["memory"]["activations_bytes"]
    assert bf16["memory"]["held_bytes"] == bf16["memory"]["activations_bytes"]
    assert bf16["memory"]["weights_bytes"] < 0.7 * fp32["memory"]["weights_bytes"]
    assert bf16["memory"]["shared_bytes"] < fp32["memory"]["shared_bytes"]
    assert logits != expected
    if strategy in ("voltage", "tensor", "pipeline"):
        assert bf16["checks"]["agreement"]["exact"] is True
        assert_near(logits, expected, 0.05)


@pytest.mark.usefixtures("has_bf16")
def test_a_sweep_packs_each_dtype_anew(thinwire):
    options = (
        "--model", MODELS / "vit-tiny", "--strategy", "trace-b", "--devices", "2",
        "--codebook", GOLDEN / "vit-tiny.safetensors", *FAST, "--agreement", "on",
    )  # fmt: skip
    alone = {}
    for dtype in ("fp32", "bf16"):
        (record,) = thinwire.records("run", *options, "--dtype", dtype)
        (thinwire.folder / "result.jsonl").unlink()
        alone[dtype] = record["checks"]["agreement"]

    records = thinwire.records("sweep", *options, "--dtype", "fp32,bf16,fp32", "--repeat", "0,1")

    assert len(records) == 4  # a point twice runs once
    for record in records:
        assert record["checks"]["agreement"] == alone[record["spec"]["dtype"]]


@pytest.mark.parametrize("command", ["run", "sweep", "calibrate"])
def test_without_the_instructions_bf16_is_refused_in_one_line(command, thinwire):
    done = thinwire(
        command, "--model", MODELS / "vit-tiny", *BF16, *FAST, "--json", "out.json",
        environment=OLD_CPU,
    )  # fmt: skip

    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    for text in ("--dtype=bf16", "AVX-512 BF16", "fp32"):
        assert text in done.stderr
    assert thinwire.files() == []


def test_formulas_know_bf16_on_any_cpu(thinwire):
    options = ("predict", "--model", "vit-base-16", "--json", "-")
    fp32 = json.loads(thinwire(*options, environment=OLD_CPU).stdout)
    bf16 = json.loads(thinwire(*options, *BF16, environment=OLD_CPU).stdout)

    others = 197 * 768 + 2 * 768 + 12 * (4 * 768 + 3072 + 768 + 4 * 768) + 2 * 768 + 1000
    weights = fp32["memory"]["weights_bytes"]
    assert bf16["memory"]["weights_bytes"] == (weights - 4 * others) / 2 + 4 * others
    assert bf16["operations"] == fp32["operations"]


def test_an_unknown_dtype_is_refused_with_the_known_ones(thinwire):
    done = thinwire("run", "--model", MODELS / "vit-tiny", "--dtype", "bf61")

    assert done.returncode == 2
    for text in ("--dtype=bf61", "fp32", "bf16"):
        assert text in done.stderr


@pytest.mark.parametrize("command", ["run", "sweep", "predict", "eval", "plan", "calibrate"])
def test_help_names_the_dtypes(command, thinwire):
    text = thinwire(command, "--help").stdout

    assert "--dtype" in text
    assert "fp32|bf16" in text


@pytest.mark.usefixtures("has_bf16")
def test_a_profile_serves_plans_of_its_dtype_alone(thinwire):
    model = ("--model", MODELS / "vit-tiny")
    done = thinwire("calibrate", *model, *BF16, *FAST, "--rows", "4,17", "--json", "device.json")
    assert done.returncode == 0, done.stderr
    profile = json.loads((thinwire.folder / "device.json").read_text(encoding="utf-8"))
    schema = SCHEMA.with_name("thinwire.profile-1.schema.json")
    jsonschema.validate(profile, json.loads(schema.read_text(encoding="utf-8")))
    plan = ("plan", *model, "--profile", "device.json", "--devices", "2", "--rate", "1Mbps")

    right, wrong = thinwire(*plan, *BF16), thinwire(*plan)

    assert profile["device"]["dtype"] == "bf16"
    assert right.returncode == 0, right.stderr
    assert wrong.returncode == 2
    assert "calibrate --dtype fp32" in wrong.stderr
