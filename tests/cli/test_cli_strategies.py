"""Every strategy through the command line: it runs, counts as predicted, answers as it should."""

import json
import struct

import jsonschema
import pytest
from places import GOLDEN, MODELS

FAST = ("--iterations", "2", "--warmup", "0")
MODEL_NAMES = ("vit-tiny", "bert-tiny", "gpt2-tiny", "vivit-tiny")
# name: options beside model, codebook and devices
STRATEGIES = {
    "astra": ("--strategy", "astra", "--groups", "3"),
    "astra packed": ("--strategy", "astra", "--index-bits", "packed"),
    "trace-b": ("--strategy", "trace-b"),
    "trace-b level 1": ("--strategy", "trace-b", "--level", "1"),
    "trace-b hidden": ("--strategy", "trace-b", "--buffers", "hidden"),
    "trace-b off": ("--strategy", "trace-b", "--buffers", "off", "--overlap", "off"),
    "trace-nb": ("--strategy", "trace-nb"),
    "trace-2a": ("--strategy", "trace-2a"),
    "trace-1b": ("--strategy", "trace-1b", "--active-codewords", "4"),
}
EXACT = {
    "voltage overlap": ("--strategy", "voltage", "--overlap", "on"),
    "tensor": ("--strategy", "tensor"),
    "pipeline": ("--strategy", "pipeline", "--micro-batches", "4"),
}


def with_codebook(name):
    return ("--model", MODELS / name, "--codebook", GOLDEN / f"{name}.safetensors")


def read_safetensors(path):
    """name: list of values, for fp32 and int32 tensors."""
    content = path.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + size])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] not in ("F32", "I32"):
            continue
        first, last = entry["data_offsets"]
        code = "f" if entry["dtype"] == "F32" else "i"
        values = content[8 + size + first : 8 + size + last]
        tensors[name] = struct.unpack(f"<{len(values) // 4}{code}", values)
    return tensors


def assert_complete(record, schema):
    jsonschema.Draft202012Validator(schema).validate(record)
    assert record["status"] == "ok"
    assert record["checks"]["counted_equals_predicted"] is True


@pytest.mark.parametrize("io", ["replicated", "terminal"])
@pytest.mark.parametrize("options", STRATEGIES.values(), ids=STRATEGIES)
def test_strategies_with_codebooks_count_as_predicted(options, io, thinwire, schema):
    (record,) = thinwire.records(
        "run", *with_codebook("vit-tiny"), *options, "--devices", "3", "--io", io, *FAST
    )

    assert_complete(record, schema)
    assert record["codebook"]["source"] == "vit-tiny.safetensors"
    assert record["codebook"]["codewords"] == 16
    assert record["spec"]["active-codewords"] == record["codebook"]["active_codewords"]


@pytest.mark.parametrize("io", ["replicated", "terminal"])
@pytest.mark.parametrize("options", EXACT.values(), ids=EXACT)
@pytest.mark.parametrize("model", MODEL_NAMES)
def test_exact_strategies_count_as_predicted(model, options, io, thinwire, schema):
    (record,) = thinwire.records(
        "run", "--model", MODELS / model, *options, "--devices", "2", "--io", io, *FAST
    )

    assert_complete(record, schema)
    assert record["codebook"] is None


@pytest.mark.parametrize("model", MODEL_NAMES)
def test_random_codebooks_serve_every_model(model, thinwire, schema):
    (record,) = thinwire.records(
        "run", "--model", MODELS / model, "--strategy", "trace-b", "--devices", "2",
        "--codewords", "32", "--level", "1", *FAST,
    )  # fmt: skip

    assert_complete(record, schema)
    assert record["codebook"]["source"] == "random"
    assert record["codebook"]["levels"] == [2, 4, 8, 32]
    assert record["codebook"]["calibration_s"] > 0


@pytest.mark.parametrize(
    "run, options",
    [
        ("trace-b.p3.level1", ("--strategy", "trace-b", "--devices", "3", "--level", "1")),
        ("trace-nb.p2", ("--strategy", "trace-nb", "--devices", "2")),
        ("astra.p3.g3", ("--strategy", "astra", "--devices", "3", "--groups", "3")),
    ],
)
def test_indices_are_written_in_token_order(run, options, thinwire):
    golden = read_safetensors(GOLDEN / "vit-tiny.safetensors")
    sample = thinwire.folder.parent / "sample.safetensors"
    write_input(sample, golden["input"])

    done = thinwire(
        "run", *with_codebook("vit-tiny"), *options, *FAST, "--input", sample,
        "--outputs", "out.safetensors", "--hidden",
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    written = read_safetensors(thinwire.folder / "out.safetensors")
    expected = {
        name.removeprefix(f"{run}."): values
        for name, values in golden.items()
        if name.startswith(f"{run}.indices.")
    }
    found = {name: values for name, values in written.items() if name.startswith("indices.")}
    assert expected and found == expected
    assert len(written["hidden.3"]) == 17 * 48


def write_input(path, values):
    header = json.dumps(
        {"input": {"dtype": "F32", "shape": [3, 32, 32], "data_offsets": [0, 4 * len(values)]}}
    )
    path.write_bytes(
        struct.pack("<Q", len(header)) + header.encode() + struct.pack(f"<{len(values)}f", *values)
    )


@pytest.mark.parametrize("collect", ["last", "all"])
def test_a_terminal_gets_the_answer(collect, thinwire, tmp_path):
    sample = tmp_path / "ids.safetensors"
    header = json.dumps({"input": {"dtype": "I32", "shape": [23], "data_offsets": [0, 92]}})
    sample.write_bytes(struct.pack("<Q", len(header)) + header.encode() + struct.pack("<23i", *range(23)))

    (record,) = thinwire.records(
        "run", "--model", MODELS / "gpt2-tiny", "--strategy", "voltage", "--devices", "2",
        "--io", "terminal", "--collect", collect, "--input", sample, *FAST,
    )  # fmt: skip

    answer = record["answer"]
    if collect == "all":
        assert answer["perplexity"] == pytest.approx(answer["single_perplexity"], rel=1e-4)
    else:
        assert answer["kind"] == "next_token" and answer["same_top1"] is True


def test_distribution_and_collection_are_part_of_the_latency(thinwire, vit_tiny):
    (record,) = thinwire.records(
        "run", "--model", vit_tiny, "--strategy", "voltage", "--devices", "2", "--io", "terminal",
        "--rate", "1Mbps,100Mbps", "--clock", "modelled", "--device-gflops", "1", *FAST,
    )  # fmt: skip

    time = record["time"]
    for i, link in enumerate(time["links"]):
        parts = time["distribution_s"][i]["p50"] + time["collection_s"][i]["p50"]
        assert 0 < parts < link["latency_s"]["p50"]
    assert time["distribution_s"][0]["p50"] > time["distribution_s"][1]["p50"]


def test_predict_equals_a_modelled_run_of_every_strategy(thinwire, vit_tiny, write_document):
    points = [
        {"strategy": "astra", "devices": 3, "codewords": 16, "class-token": "replicated"},
        {"strategy": "trace-b", "devices": 3, "codewords": 16, "level": 1},
        {"strategy": "trace-nb", "devices": 2, "codewords": 16},
        {"strategy": "trace-2a", "devices": 2, "codewords": 16},
        {"strategy": "tensor", "devices": 3},
        {"strategy": "pipeline", "devices": 3, "micro-batches": 4},
        {"strategy": "trace-b", "devices": 2, "codewords": 16, "io": "terminal"},
        {"strategy": "pipeline", "devices": 2, "micro-batches": 2, "io": "terminal"},
    ]
    base = {
        "model": str(vit_tiny), "iterations": 1, "warmup": 0, "clock": "modelled",
        "device-gflops": 1, "rate": "1Mbps,100Mbps",
    }  # fmt: skip
    document = write_document({"base": base, "points": points})

    measured = thinwire.records("sweep", document)
    done = thinwire("predict", document, "--json", "predicted.jsonl")

    assert done.returncode == 0, done.stderr
    predicted = thinwire.read("predicted.jsonl")
    assert len(measured) == len(predicted) == len(points)
    for ours, theirs in zip(measured, predicted):
        assert ours["operations"] == theirs["operations"]
        assert ours["traffic"]["per_device"] == theirs["traffic"]["per_device"]
        assert ours["traffic"]["link_bits"] == theirs["traffic"]["link_bits"]
        assert ours["time"]["links"] == theirs["time"]["links"]
        for key in ("distribution_s", "collection_s", "bubble_fraction"):
            assert ours["time"][key] == theirs["time"][key], key
        assert_same_overlap(ours["time"]["overlap"], theirs["time"]["overlap"])


def assert_same_overlap(run, prediction):
    """A run's windows are differences of clock readings, so their last bits may differ."""
    assert (run is None) == (prediction is None)
    for ours, theirs in zip(run or [], prediction or []):
        assert ours["exchange"] == theirs["exchange"]
        assert ours["window_s"] == pytest.approx(theirs["window_s"], rel=1e-12)
        assert ours["transfer_s"] == theirs["transfer_s"]


def test_a_sweep_keeps_levels_of_one_codebook_apart(thinwire, write_document):
    name = "vit-tiny"
    document = write_document(
        {
            "base": {
                "model": str(MODELS / name), "codebook": str(GOLDEN / f"{name}.safetensors"),
                "strategy": "trace-b", "devices": 2, "iterations": 1, "warmup": 0,
            },
            "matrix": {"level": "0..3"},
        }
    )  # fmt: skip

    records = thinwire.records("sweep", document)

    assert [record["spec"]["active-codewords"] for record in records] == [2, 4, 8, 16]
    assert len({record["id"] for record in records}) == 4
    assert len({record["codebook"]["fingerprint"] for record in records}) == 1
    assert len(thinwire.records("sweep", document)) == 4  # and knows them again


def test_points_with_more_devices_than_blocks_are_skipped(thinwire, vit_tiny, write_document):
    points = [{"strategy": strategy, "devices": 4} for strategy in ("tensor", "pipeline")]
    document = write_document({"base": {"model": str(vit_tiny)}, "points": points})

    records = thinwire.records("predict", document)

    assert [record["status"] for record in records] == ["skipped", "skipped"]
    assert "3 heads" in records[0]["reason"] and "3 blocks" in records[1]["reason"]


def test_people_read_what_a_strategy_adds(thinwire, vit_tiny):
    modelled = ("--model", vit_tiny, "--clock", "modelled", "--device-gflops", "1", *FAST)

    trace = thinwire("run", *modelled, "--strategy", "trace-b", "--devices", "2")
    pipeline = thinwire(
        "run", *modelled, "--strategy", "pipeline", "--devices", "2", "--micro-batches", "4"
    )
    terminal = thinwire(
        "run", *modelled, "--strategy", "voltage", "--devices", "2", "--io", "terminal"
    )

    for done in (trace, pipeline, terminal):
        assert done.returncode == 0, done.stderr
    for word in ("random", "timing only", "buffers kv", "overlap on", "hidden", "transfer"):
        assert word in trace.stdout
    for word in ("4 micro-batches", "first output", "inputs/s"):
        assert word in pipeline.stdout
    for word in ("and a terminal", "distribution", "collection"):
        assert word in terminal.stdout
