"""What run, sweep and predict write."""

import json
import shutil

import jsonschema
import pytest

PRISM = ("--strategy", "prism", "--devices", "2", "--segments", "2")
FAST = ("--iterations", "2", "--warmup", "0")


def small_sweep(vit_tiny, points):
    return {
        "name": "small",
        "base": {
            "model": str(vit_tiny), "iterations": 2, "warmup": 0, "clock": "modelled",
            "device-gflops": 1, "rate": "10Mbps,100Mbps",
        },
        "points": points,
    }  # fmt: skip


SINGLE = {"strategy": "single", "devices": 1}
VOLTAGE = {"strategy": "voltage", "devices": 3}
PRISM_POINT = {"strategy": "prism", "devices": 2, "segments": 2}
DUPLICATE = {**PRISM_POINT, "scaling": "duplicate"}


def test_a_runs_record_satisfies_the_schema(thinwire, vit_tiny, schema):
    (record,) = thinwire.records(
        "run", "--model", vit_tiny, *PRISM, *FAST, "--rate", "10Mbps,1Gbps"
    )

    jsonschema.Draft202012Validator(schema).validate(record)
    assert record["schema"] == "thinwire.result/1"
    assert (record["status"], record["source"]) == ("ok", "measured")
    assert record["checks"]["counted_equals_predicted"] is True
    assert [link["link"]["rate_bit_per_s"] for link in record["time"]["links"]] == [1e7, 1e9]
    assert len(record["time"]["links"][0]["latency_s"]["samples"]) == 2


def test_the_schema_refuses_a_record_without_its_operations(thinwire, vit_tiny, schema):
    (record,) = thinwire.records("run", "--model", vit_tiny, *FAST)
    del record["operations"]

    with pytest.raises(jsonschema.ValidationError, match="operations"):
        jsonschema.Draft202012Validator(schema).validate(record)


def test_records_hold_no_paths(thinwire, vit_tiny):
    (record,) = thinwire.records("run", "--model", vit_tiny, *FAST)

    assert record["spec"]["model"] == "vit-tiny"
    text = json.dumps(record)
    assert str(vit_tiny.parent) not in text
    assert str(thinwire.folder) not in text


def test_run_starts_mpirun_itself(thinwire, vit_tiny):
    (record,) = thinwire.records("run", "--model", vit_tiny, "--devices", "3", *FAST)

    assert record["spec"]["devices"] == 3
    assert len(record["operations"]["device_flops"]) == 3


def test_json_to_stdout_is_one_record_and_nothing_else(thinwire, vit_tiny):
    done = thinwire("run", "--model", vit_tiny, *PRISM, *FAST, "--json", "-")

    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1
    assert json.loads(done.stdout)["status"] == "ok"
    assert thinwire.files() == []


def test_a_sweep_skips_finished_points(thinwire, vit_tiny, write_document):
    document = write_document(small_sweep(vit_tiny, [SINGLE, VOLTAGE]))
    result = thinwire.folder / "sweep.jsonl"
    assert thinwire("sweep", document, "--json", result).returncode == 0
    first = result.read_text(encoding="utf-8")
    write_document(small_sweep(vit_tiny, [SINGLE, VOLTAGE, PRISM_POINT]))

    again = thinwire("sweep", document, "--json", result)

    assert again.returncode == 0, again.stderr
    assert result.read_text(encoding="utf-8").startswith(first)
    strategies = [r["spec"]["strategy"] for r in thinwire.read("sweep.jsonl")]
    assert strategies == ["single", "voltage", "prism"]


def test_a_sweep_tells_models_of_one_name_apart(thinwire, vit_tiny, write_document, tmp_path):
    for folder, changed in (("a", 0), ("b", 1)):
        copy = shutil.copytree(vit_tiny, tmp_path / folder / "model")
        weights = copy / "model.safetensors"
        weights.chmod(0o644)
        data = bytearray(weights.read_bytes())
        data[-4] ^= changed  # the lowest bits of the last weight
        weights.write_bytes(data)
    first, second = (
        write_document(small_sweep(tmp_path / folder / "model", [SINGLE]), f"{folder}.json")
        for folder in "ab"
    )
    thinwire.records("sweep", first)

    records = thinwire.records("sweep", second)

    assert len(records) == 2
    assert records[0]["spec"]["model"] == records[1]["spec"]["model"] == "model"
    assert records[0]["id"] != records[1]["id"]
    assert len(thinwire.records("sweep", second)) == 2  # and knows its own


def test_a_sweep_repeats_failed_points(thinwire, vit_tiny, write_document):
    document = write_document(small_sweep(vit_tiny, [SINGLE]))
    result = thinwire.folder / "sweep.jsonl"
    assert thinwire("sweep", document, "--json", result).returncode == 0
    record = json.loads(result.read_text(encoding="utf-8"))
    result.write_text(json.dumps({**record, "status": "failed"}) + "\n", encoding="utf-8")

    again = thinwire("sweep", document, "--json", result)

    assert again.returncode == 0, again.stderr
    assert [r["status"] for r in thinwire.read("sweep.jsonl")] == ["failed", "ok"]


def without_tensor(folder, name):
    """A copy of a checkpoint's weights that lacks one tensor."""
    weights = folder / "model.safetensors"
    content = weights.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    header = json.dumps({key: value for key, value in header.items() if key != name}).encode()
    weights.chmod(0o644)
    weights.write_bytes(len(header).to_bytes(8, "little") + header + content[8 + size :])


def test_a_sweep_records_a_failing_point_and_goes_on(
    thinwire, vit_tiny, write_document, tmp_path
):
    broken = shutil.copytree(vit_tiny, tmp_path / "broken")
    without_tensor(broken, "vit.encoder.layer.1.output.dense.weight")
    document = write_document(
        {"base": {"iterations": 1, "warmup": 0}, "points": [{"model": str(broken)}, {"model": str(vit_tiny)}]}
    )

    done = thinwire("sweep", document, "--json", "result.jsonl")

    assert done.returncode == 1, done.stderr
    failed, finished = thinwire.read("result.jsonl")
    assert failed["status"] == "failed"
    assert "encoder.layer.1.output.dense.weight" in failed["reason"]
    assert finished["status"] == "ok"


def test_a_sweep_goes_on_after_a_line_that_was_cut_off(thinwire, vit_tiny, write_document):
    document = write_document(small_sweep(vit_tiny, [SINGLE, VOLTAGE]))
    result = thinwire.folder / "sweep.jsonl"
    assert thinwire("sweep", document, "--json", result).returncode == 0
    whole = result.read_text(encoding="utf-8")
    result.write_text(whole[: len(whole) - 200], encoding="utf-8")

    again = thinwire("sweep", document, "--json", result)

    assert again.returncode == 0, again.stderr
    strategies = [r["spec"]["strategy"] for r in thinwire.read("sweep.jsonl")]
    assert strategies == ["single", "voltage"]


def test_points_that_do_not_fit_are_skipped_with_the_reason(thinwire, vit_tiny, write_document):
    points = [{**PRISM_POINT, "segments": 9}, PRISM_POINT]  # 17 tokens: n_p is 8 and 9
    document = write_document(small_sweep(vit_tiny, points))

    records = thinwire.records("sweep", document)

    assert [r["status"] for r in records] == ["skipped", "ok"]
    assert "9" in records[0]["reason"] and "8" in records[0]["reason"]


def test_a_matrix_becomes_its_product_beside_the_points(thinwire, vit_tiny, write_document):
    document = small_sweep(vit_tiny, [SINGLE])
    document["matrix"] = {"strategy": ["prism"], "devices": [2, 3], "segments": [1, 2]}
    path = write_document(document)

    records = thinwire.records("predict", path)

    found = {(r["spec"]["strategy"], r["spec"]["devices"], r["spec"]["segments"]) for r in records}
    assert len(records) == 5
    assert found >= {("prism", devices, segments) for devices in (2, 3) for segments in (1, 2)}


def test_dry_run_prints_the_points_and_runs_none(thinwire, vit_tiny, write_document):
    document = write_document(small_sweep(vit_tiny, [SINGLE, VOLTAGE]))

    done = thinwire("sweep", document, "--json", "sweep.jsonl", "--dry-run")

    assert done.returncode == 0, done.stderr
    assert "voltage" in done.stdout
    assert thinwire.files() == []


def test_a_switch_leaves_the_document_behind_it_alone(thinwire, vit_tiny, write_document):
    document = write_document(small_sweep(vit_tiny, [SINGLE, VOLTAGE]))

    done = thinwire("sweep", "--dry-run", document)

    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["model=vit-tiny"] * 2


def test_dry_run_off_runs(thinwire, vit_tiny, write_document):
    document = write_document(small_sweep(vit_tiny, [SINGLE]))

    assert len(thinwire.records("sweep", "--dry-run", "off", document)) == 1


@pytest.mark.parametrize("command", ["sweep", "predict"])
def test_a_document_can_name_the_result_file(command, thinwire, vit_tiny, write_document):
    document = small_sweep(vit_tiny, [SINGLE])
    document["base"]["json"] = "own.jsonl"

    done = thinwire(command, write_document(document))

    assert done.returncode == 0, done.stderr
    assert thinwire.files() == ["own.jsonl"]


def test_records_go_to_a_device_file(thinwire, vit_tiny):
    done = thinwire("run", "--model", vit_tiny, *FAST, "--json", "/dev/stdout")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[0])["status"] == "ok"


def test_predict_equals_a_modelled_run(thinwire, vit_tiny, write_document):
    document = write_document(small_sweep(vit_tiny, [SINGLE, VOLTAGE, PRISM_POINT, DUPLICATE]))
    assert thinwire("sweep", document, "--json", "measured.jsonl").returncode == 0

    done = thinwire("predict", document, "--json", "predicted.jsonl")

    assert done.returncode == 0, done.stderr
    measured, predicted = thinwire.read("measured.jsonl"), thinwire.read("predicted.jsonl")
    assert len(measured) == len(predicted) == 4
    for ours, theirs in zip(measured, predicted):
        assert_same_figures(ours, theirs)


def test_predict_under_mpirun_speaks_once(thinwire, vit_tiny):
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    done = thinwire(
        "predict", "--model", vit_tiny, "--strategy", "voltage", "--devices", "2", "--json", "result.jsonl",
        prefix=("mpirun", "--oversubscribe", "-n", "2"), environment=as_root,
    )

    assert done.returncode == 0, done.stderr
    assert len(thinwire.read("result.jsonl")) == 1


def assert_same_figures(run, prediction):
    assert (run["source"], prediction["source"]) == ("measured", "predicted")
    assert run["operations"] == prediction["operations"]
    for key in ("exchanges", "link_bits", "nominal_bits_per_inference", "compression_rate"):
        assert run["traffic"][key] == prediction["traffic"][key], key
    for ours, theirs in zip(run["time"]["links"], prediction["time"]["links"]):
        assert ours["link"] == theirs["link"]
        for key in ("latency_s", "compute_s", "wait_s", "hidden_s"):
            assert ours[key]["p50"] == theirs[key]["p50"], key


def test_the_modelled_clock_is_deterministic(thinwire, vit_tiny):
    options = ("--model", vit_tiny, *PRISM, *FAST, "--clock", "modelled", "--device-gflops", "1")

    first, second = (thinwire("run", *options, "--json", "-").stdout for _ in range(2))

    links = [json.loads(text)["time"]["links"] for text in (first, second)]
    assert links[0] == links[1]


def test_a_trace_is_written_for_perfetto(thinwire, vit_tiny):
    done = thinwire("run", "--model", vit_tiny, *PRISM, *FAST, "--trace", "trace.json")

    assert done.returncode == 0, done.stderr
    document = json.loads((thinwire.folder / "trace.json").read_text(encoding="utf-8"))
    events = document["traceEvents"] if isinstance(document, dict) else document
    assert {event["ph"] for event in events} & {"X", "B"}


def test_tensor_parallelism_keeps_its_slices_in_the_nodes_memory(thinwire, vit_tiny):
    def memory(strategy):
        (record,) = thinwire.records(
            "run", "--model", vit_tiny, "--strategy", strategy, "--devices", 3, "--iterations", 1
        )
        (thinwire.folder / "result.jsonl").unlink()
        return record["memory"]

    whole = memory("voltage")["shared_bytes"]

    blocks = 3 * (4 * 48 * 48 + 2 * 48 * 96) * 4  # bytes of their products, in slices once more
    assert memory("tensor")["shared_bytes"] >= whole + blocks
