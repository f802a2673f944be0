"""Points of a sweep that differ in their links alone: one execution serves them all."""

import os
import signal

import jsonschema
import pytest
from places import REPOSITORY
from processes import ranks_of

FAST = {"iterations": 2, "warmup": 0, "clock": "modelled", "device-gflops": 1, "devices": 2}
LINKS = [
    {"rate": "1Mbps,8Mbps"},
    {"rate": "100Mbps", "latency": "2ms"},
    {"rate": "10Mbps", "topology": "broadcast,shared"},
    {"rate": "5Mbps:2Mbps", "overhead": "tcp"},
]
TRACED = {"rate-trace": str(REPOSITORY / "experiments" / "traces" / "lte.csv")}
WORK = {
    "voltage": {"strategy": "voltage"},
    "overlap": {"strategy": "prism", "segments": 2, "overlap": "on"},
    "trace": {"strategy": "trace-b"},
    "astra": {"strategy": "astra", "io": "terminal"},
    "tensor": {"strategy": "tensor"},
    "pipeline": {"strategy": "pipeline", "micro-batches": 3},
    "terminal": {"strategy": "voltage", "io": "terminal", "slowness": "1,2.5"},
}


def sweep_of(vit_tiny, points, **base):
    return {"base": {"model": str(vit_tiny), **FAST, **base}, "points": points}


def flags(options):
    return [f"--{name}={value}" for name, value in options.items()]


def compute_samples(record):
    return [
        [device["compute_s"]["samples"] for device in link["per_device"]]
        for link in record["time"]["links"]
    ]


@pytest.mark.parametrize("work", WORK.values(), ids=WORK.keys())
def test_a_point_shows_what_its_own_execution_shows(
    work, thinwire, vit_tiny, write_document, schema
):
    links = [*LINKS, TRACED]
    document = write_document(sweep_of(vit_tiny, [{**work, **link} for link in links]))
    together = thinwire.records("sweep", document)
    (thinwire.folder / "result.jsonl").unlink()

    assert len(together) == len(links)
    for record, link in zip(together, links):
        options = flags({"model": vit_tiny, **FAST, **work, **link})
        (alone,) = thinwire.records("run", *options)
        (thinwire.folder / "result.jsonl").unlink()
        jsonschema.Draft202012Validator(schema).validate(record)
        shared = record["time"].pop("shared_execution")
        assert shared == {"points": len(links), "first_id": together[0]["id"]}
        assert "shared_execution" not in alone["time"]
        for own in (record, alone):
            own["time"].pop("setup_s")
            own.pop("memory")
            own.pop("environment")
            (own["codebook"] or {}).pop("calibration_s", None)
        assert record == alone  # to the last bit of every time


def test_measured_compute_is_one_sample_for_all_links(thinwire, vit_tiny, write_document):
    points = [{"strategy": "voltage", **link} for link in LINKS]
    document = write_document(sweep_of(vit_tiny, points, clock="emulated"))
    records = thinwire.records("sweep", document)

    assert {record["source"] for record in records} == {"measured"}
    samples = [one for record in records for one in compute_samples(record)]
    assert len(samples) == 6
    assert all(one == samples[0] for one in samples)
    assert samples[0][0][0] != samples[0][0][1]  # measured: no two iterations are alike
    slow, fast = (link["wait_s"]["min"] for link in records[0]["time"]["links"])
    assert slow > fast > 0
    for record in records:
        for link in record["time"]["links"]:
            for i, latency in enumerate(link["latency_s"]["samples"]):
                ends = [
                    device["compute_s"]["samples"][i] + device["wait_s"]["samples"][i]
                    for device in link["per_device"]
                ]
                assert latency == max(ends)


def test_points_of_real_time_are_measured_one_by_one(thinwire, vit_tiny, write_document):
    points = [{"strategy": "voltage", "rate": rate} for rate in ("400Mbps", "500Mbps")]
    base = {"clock": "throttled", "device-gflops": None}
    records = thinwire.records("sweep", write_document(sweep_of(vit_tiny, points, **base)))

    assert all("shared_execution" not in record["time"] for record in records)
    assert compute_samples(records[0]) != compute_samples(records[1])


def test_the_dry_run_counts_executions(thinwire, vit_tiny, write_document):
    points = [
        {"strategy": strategy, **link} for link in LINKS for strategy in ("voltage", "trace-b")
    ]
    done = thinwire("sweep", write_document(sweep_of(vit_tiny, points)), "--dry-run")

    assert "8 points, 8 to run in 2 executions" in done.stderr
    names = [line.partition("strategy=")[2].split()[0] for line in done.stdout.splitlines()]
    assert names == 4 * ["voltage"] + 4 * ["trace-b"]


def test_what_is_left_of_an_execution_is_run_together(thinwire, vit_tiny, write_document):
    points = [{"strategy": "voltage", **link} for link in LINKS]
    thinwire.records("sweep", write_document(sweep_of(vit_tiny, points[1:2])))
    document = write_document(sweep_of(vit_tiny, points))

    records = thinwire.records("sweep", document)

    assert len({record["id"] for record in records}) == len(records) == 4
    assert "shared_execution" not in records[0]["time"]
    assert [record["time"]["shared_execution"] for record in records[1:]] == 3 * [
        {"points": 3, "first_id": records[1]["id"]}
    ]

    again = thinwire("sweep", document, "--json", "result.jsonl", "--resume", "off")

    assert "4 points done" in again.stderr
    later = thinwire.read("result.jsonl")[4:]
    assert [record["time"]["shared_execution"]["points"] for record in later] == 4 * [4]
    assert {record["id"] for record in later} == {record["id"] for record in records}


@pytest.mark.parametrize("devices", [1, 2])
def test_an_execution_that_fails_fails_all_its_points_and_the_sweep_goes_on(
    devices, thinwire, vit_tiny, write_document, schema
):
    endless = [{"iterations": 100000000, **link} for link in LINKS[:2]]
    points = [*endless, {"rate": "1Mbps"}, {"rate": "2Mbps"}]
    document = write_document(sweep_of(vit_tiny, points, devices=devices))

    done = thinwire("sweep", document, "--json", "result.jsonl", "--point-timeout", "1500ms")

    assert done.returncode == 1, done.stderr
    records = thinwire.read("result.jsonl")
    assert [record["status"] for record in records] == ["failed", "failed", "ok", "ok"]
    assert records[0]["reason"] == records[1]["reason"]
    assert len({record["id"] for record in records}) == 4
    assert "2 points done, 0 skipped (cannot fit), 2 failed" in done.stderr
    for record in records:
        jsonschema.Draft202012Validator(schema).validate(record)


def test_a_killed_rank_costs_its_execution_alone(thinwire, vit_tiny, write_document):
    endless = [{"iterations": 100000000, **link} for link in LINKS[:2]]
    points = [{"rate": "1Mbps"}, *endless, {"rate": "2Mbps", "repeat": 1}]
    document = write_document(sweep_of(vit_tiny, points))
    result = thinwire.folder / "result.jsonl"
    with thinwire.start("sweep", document, "--json", result) as sweep:
        sweep.wait_for(lambda: result.exists() and result.read_bytes().count(b"\n") == 1)
        os.kill(ranks_of(sweep.pid)[1], signal.SIGKILL)
        status, text = sweep.finish()

    assert status == 1, text
    records = thinwire.read("result.jsonl")
    assert [record["status"] for record in records] == ["ok", "failed", "failed", "ok"]
    assert {record["reason"] for record in records[1:3]} == {
        "rank 1 was killed by signal 9 (Killed)"
    }


def test_codebooks_stay_while_strategies_take_turns(thinwire, vit_tiny, write_document):
    points = [
        {"strategy": "trace-b", "buffers": buffers, "repeat": repeat}
        for repeat in range(3)
        for buffers in ("kv", "hidden")
    ]
    records = thinwire.records("sweep", write_document(sweep_of(vit_tiny, points)))

    # A set that is made again takes another time, to the nanosecond.
    times = [record["codebook"]["calibration_s"] for record in records]
    assert times[0::2] == 3 * [times[0]]
    assert times[1::2] == 3 * [times[1]]
    assert times[0] != times[1]
    shared = [record["memory"]["shared_bytes"] for record in records]
    assert shared[0::2] == 3 * [shared[0]]  # the set in use counts, not what stays beside it
