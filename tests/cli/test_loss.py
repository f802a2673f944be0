"""--loss and --on-loss: what a link that loses packets does to time and to answers."""

import json

import data_files
import jsonschema
import pytest
from places import GOLDEN, MODELS, SCHEMA
from test_cli_strategies import read_safetensors

VIT = ("--model", MODELS / "vit-tiny")
MODELLED = ("--clock", "modelled", "--device-gflops", "1", "--rate", "1Mbps", "--latency", "1ms")
STRATEGIES = {
    "voltage": (),
    "prism": ("--segments", "2"),
    "astra": ("--codebook", GOLDEN / "vit-tiny.safetensors", "--groups", "3"),
    "trace-b": ("--codebook", GOLDEN / "vit-tiny.safetensors"),
    "trace-nb": ("--codebook", GOLDEN / "vit-tiny.safetensors"),
}


def validated(record):
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(record)
    return record


def test_predicted_times_with_retransmissions_are_those_of_a_run(thinwire):
    for options in (
        ("--strategy", "voltage", "--topology", "broadcast"),
        ("--strategy", "prism", "--segments", "2", "--overhead", "tcp"),
        ("--strategy", "voltage", "--io", "terminal", "--topology", "shared"),
        ("--strategy", "tensor"),
        ("--strategy", "pipeline"),
    ):
        common = (*VIT, *options, "--devices", "2", *MODELLED, "--loss", "30%")
        common += ("--iterations", "4", "--warmup", "1", "--seed", "5")
        (ran,) = thinwire.records("run", *common)
        (thinwire.folder / "result.jsonl").unlink()
        (predicted,) = thinwire.records("predict", *common)
        (thinwire.folder / "result.jsonl").unlink()

        for record in (ran, predicted):
            validated(record)
        link, same = (record["time"]["links"][0] for record in (ran, predicted))
        assert link["latency_s"] == same["latency_s"]
        assert len(set(link["latency_s"]["samples"])) > 1  # chance
        assert link["link"]["loss"] == {
            "probability": 0.3,
            "policy": "retransmit",
            "packet_bytes": 1448,
        }
        assert link["repeated_packets"] > 0
        assert "losses" not in ran["traffic"]
        assert ran["checks"]["counted_equals_predicted"] is True


def test_retransmission_changes_time_alone(thinwire):
    common = ("run", *VIT, "--devices", "2", *MODELLED, "--iterations", "2", "--warmup", "0")
    common += ("--outputs", "out.safetensors")
    (whole,) = thinwire.records(*common)
    answer = read_safetensors(thinwire.folder / "out.safetensors")["logits"]
    _, lossy = thinwire.records(*common, "--loss", "0.5")

    assert read_safetensors(thinwire.folder / "out.safetensors")["logits"] == answer
    assert lossy["traffic"]["per_device"] == whole["traffic"]["per_device"]
    times = [record["time"]["links"][0]["latency_s"]["min"] for record in (whole, lossy)]
    assert times[1] > times[0]
    assert "loss" not in whole["time"]["links"][0]["link"]
    assert (whole["spec"]["loss"], whole["spec"]["on-loss"]) == (0, None)
    assert (lossy["spec"]["loss"], lossy["spec"]["on-loss"]) == (0.5, "retransmit")
    assert whole["id"] != lossy["id"]


@pytest.mark.parametrize("policy", ["skip", "reuse"])
@pytest.mark.parametrize("devices", ["2", "3", "4"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_dropped_packets_change_answers_alone(strategy, devices, policy, thinwire):
    common = ("run", *VIT, "--strategy", strategy, *STRATEGIES[strategy], "--devices", devices)
    common += (*MODELLED, "--overhead", "8B/16B", "--iterations", "2", "--warmup", "0")
    common += ("--outputs", "out.safetensors")
    (whole,) = thinwire.records(*common)
    answer = read_safetensors(thinwire.folder / "out.safetensors")["logits"]
    lost = ("--loss", "20%", "--on-loss", policy)
    (thinwire.folder / "result.jsonl").unlink()
    (lossy,) = thinwire.records(*common, *lost)
    (thinwire.folder / "result.jsonl").unlink()
    (again,) = thinwire.records(*common, *lost)

    assert read_safetensors(thinwire.folder / "out.safetensors")["logits"] != answer
    validated(lossy)
    assert lossy["time"]["links"][0]["latency_s"] == whole["time"]["links"][0]["latency_s"]
    assert lossy["operations"] == whole["operations"]
    assert lossy["traffic"]["per_device"] == whole["traffic"]["per_device"]
    assert lossy["checks"]["counted_equals_predicted"] is True
    memory = lossy["memory"]["per_device"]
    assert memory["held_bytes"] == memory["activations_bytes"]
    losses = lossy["traffic"]["losses"]
    assert losses == again["traffic"]["losses"]
    assert 0 < losses["lost_packets"] < losses["packets"]
    assert 0 < losses["lost_rows_fraction"] < 1


def test_evaluation_loses_the_same_however_samples_are_spread(thinwire, tmp_path):
    data = data_files.pictures(tmp_path / "pictures.safetensors", samples=9)
    common = ("eval", *VIT, "--data", data, "--strategy", "prism", "--segments", "2")
    common += ("--devices", "2", "--overhead", "8B/16B")
    lost = ("--loss", "30%", "--on-loss", "skip", "--seed", "4")
    (whole,) = thinwire.records(*common)
    _, lossy = thinwire.records(*common, *lost)
    alone = thinwire(*common, *lost, "--json", "alone.jsonl", "--samples", "8")
    assert alone.returncode == 0, alone.stderr
    spread = thinwire(
        *(*common, *lost, "--json", "spread.jsonl"),
        prefix=("mpirun", "--oversubscribe", "--bind-to", "none", "-n", "3"),
        environment={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
    )
    assert spread.returncode == 0, spread.stderr
    (over_ranks,) = thinwire.read("spread.jsonl")

    validated(lossy)
    losses = lossy["traffic"]["losses"]
    assert 0 < losses["lost_packets"] < losses["packets"]
    assert lossy["checks"]["counted_equals_predicted"] is True
    assert over_ranks["traffic"]["losses"] == losses
    assert over_ranks["accuracy"]["value"] == lossy["accuracy"]["value"]
    assert "losses" not in whole["traffic"]
    (last,) = thinwire.read("alone.jsonl")
    assert last["traffic"]["losses"]["packets"] * 9 == losses["packets"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--loss", "1"), "--loss=1: a probability from 0 to below 1"),
        (("--loss", "-5%"), "--loss=-5%: a probability from 0 to below 1"),
        (("--loss", "some"), "--loss=some"),
        (("--on-loss", "ignore"), "--on-loss=ignore"),
        (
            ("--strategy", "tensor", "--loss", "0.1", "--on-loss", "skip"),
            "--on-loss=skip with --strategy=tensor: only strategies that split the tokens",
        ),
        (
            ("--strategy", "pipeline", "--loss", "0.1", "--on-loss", "reuse"),
            "--on-loss=reuse with --strategy=pipeline",
        ),
        (
            ("--loss", "0.1", "--on-loss", "skip", "--io", "terminal"),
            "--on-loss=skip with --io=terminal: what a terminal sends must arrive",
        ),
        (
            ("--segments", "2", "--scaling", "duplicate", "--loss", "0.1", "--on-loss", "skip"),
            "--on-loss=skip with --scaling=duplicate",
        ),
        (("--loss", "0.1", "--clock", "native"), "--loss=0.1 with --clock=native"),
    ],
)
def test_what_cannot_be_lost_is_an_error(options, message, thinwire):
    done = thinwire("run", *VIT, "--devices", "2", *options)

    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_wall_clocks_drop_packets_too(thinwire):
    (record,) = thinwire.records(
        *("run", *VIT, "--devices", "2", "--clock", "native", "--iterations", "2"),
        *("--loss", "40%", "--on-loss", "reuse"),
    )

    assert record["traffic"]["losses"]["lost_packets"] > 0


def test_points_whose_packets_differ_run_apart(thinwire):
    document = {
        "base": {
            "model": str(MODELS / "vit-tiny"),
            "devices": 2,
            "loss": 0.3,
            "on-loss": "skip",
            "iterations": 1,
            "warmup": 0,
        },
        "matrix": {"overhead": ["none", "8B/16B"]},
    }
    (thinwire.folder / "sweep.json").write_text(json.dumps(document), encoding="utf-8")
    records = thinwire.records("sweep", "sweep.json")

    packets = [record["traffic"]["losses"]["packets"] for record in records]
    assert packets[0] < packets[1]
    assert all("shared_execution" not in record["time"] for record in records)
