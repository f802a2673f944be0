"""Sweeps: what they run, leave out, run again, and how they end."""

import json
import os
import signal
import time

import jsonschema
import pytest
from processes import alive, descendants, kill_session

FAST = {"iterations": 1, "warmup": 0, "clock": "modelled", "device-gflops": 1}


def document_of(vit_tiny, **parts):
    return {"name": "small", "base": {"model": str(vit_tiny), **FAST}, **parts}


def matrix_of(vit_tiny, **matrix):
    return document_of(vit_tiny, matrix=matrix)


def states(records):
    return [(r["spec"]["strategy"], r["spec"]["devices"], r["status"]) for r in records]


def test_exclusions_leave_points_out(thinwire, vit_tiny, write_document):
    document = matrix_of(vit_tiny, strategy=["single", "voltage"], devices=[1, 2, 3])
    document["exclude"] = [{"strategy": "single", "devices": "2..3"}, {"devices": 3}]

    done = thinwire("sweep", write_document(document), "--dry-run")

    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3
    assert "3 points, 3 to run" in done.stderr


def test_an_exclusion_that_matches_nothing_is_an_error(thinwire, vit_tiny, write_document):
    document = matrix_of(vit_tiny, devices=[1, 2])
    document["exclude"] = [{"devices": 4}]

    done = thinwire("sweep", write_document(document), "--dry-run")

    assert done.returncode == 2
    assert '{"devices":4} matches no point' in done.stderr


def set_status(path, index, status):
    lines = path.read_text(encoding="utf-8").splitlines()
    record = json.loads(lines[index])
    lines[index] = json.dumps({**record, "status": status}, separators=(",", ":"))
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


@pytest.fixture
def one_of_each(thinwire, vit_tiny, write_document):
    """A sweep of three points whose file holds one ok, one failed and no third record."""
    thinwire.records("sweep", write_document(matrix_of(vit_tiny, devices=[1, 2])))
    set_status(thinwire.folder / "result.jsonl", 1, "failed")
    return write_document(matrix_of(vit_tiny, devices=[1, 2, 3]))


def test_dry_run_says_what_the_file_holds(thinwire, one_of_each):
    done = thinwire("sweep", one_of_each, "--json", "result.jsonl", "--dry-run")

    assert done.returncode == 0, done.stderr
    assert [line.split("# ")[1] for line in done.stdout.splitlines()] == ["ok", "failed", "new"]
    assert "3 points (result.jsonl: 1 ok, 0 skipped, 1 failed, 1 new), 2 to run" in done.stderr


@pytest.mark.parametrize(
    "options, devices",
    [
        ((), [2, 3]),
        (("--only", "failed"), [2]),
        (("--only", "new"), [3]),
        (("--resume", "off"), [1, 2, 3]),
    ],
    ids=["resume", "failed", "new", "all"],
)
def test_a_selection_runs_its_points(options, devices, thinwire, one_of_each):
    done = thinwire("sweep", one_of_each, "--json", "result.jsonl", *options)

    assert done.returncode == 0, done.stderr
    assert [r["spec"]["devices"] for r in thinwire.read("result.jsonl")[2:]] == devices
    assert f"{len(devices)} points done" in done.stderr


@pytest.mark.parametrize(
    "options, message",
    [
        (("--only", "old"), "--only=old is unknown"),
        (("--only", "new", "--resume", "off"), "contradict"),
        (("--point-timeout", "5"), "--point-timeout=5"),
        (("--resume", "maybe"), "maybe"),
    ],
    ids=["only", "both", "timeout", "switch"],
)
def test_wrong_selections_are_refused(options, message, thinwire, vit_tiny):
    done = thinwire("sweep", "--model", vit_tiny, "--json", "result.jsonl", *options)

    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert thinwire.files() == []


@pytest.mark.parametrize("devices", [1, 2])
def test_a_point_that_takes_too_long_fails_and_the_sweep_goes_on(
    devices, thinwire, vit_tiny, write_document, schema
):
    points = [
        {"devices": devices, "iterations": 100000000},
        {"devices": devices, "iterations": 1},
    ]
    document = write_document(document_of(vit_tiny, points=points))

    done = thinwire("sweep", document, "--json", "result.jsonl", "--point-timeout", "1500ms")

    assert done.returncode == 1, done.stderr
    late, finished = thinwire.read("result.jsonl")
    assert (late["status"], finished["status"]) == ("failed", "ok")
    assert "longer than --point-timeout=1.5s" in late["reason"]
    assert "1 points done, 0 skipped (cannot fit), 1 failed" in done.stderr
    jsonschema.Draft202012Validator(schema).validate(late)


def test_a_failure_on_any_rank_is_recorded_once_and_the_sweep_goes_on(
    thinwire, vit_tiny, write_document, tmp_path, schema
):
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "config.json").write_bytes((vit_tiny / "config.json").read_bytes())
    weights = bytearray((vit_tiny / "model.safetensors").read_bytes())
    place = weights.index(b"vit.encoder.layer.1.output.dense.weight")
    weights[place : place + 3] = b"xyz"
    (broken / "model.safetensors").write_bytes(weights)
    points = [{"model": str(broken), "devices": 2}, {"devices": 2}]
    document = write_document(document_of(vit_tiny, points=points))

    done = thinwire("sweep", document, "--json", "result.jsonl")

    assert done.returncode == 1, done.stderr
    failed, finished = thinwire.read("result.jsonl")
    assert (failed["status"], finished["status"]) == ("failed", "ok")
    assert failed["reason"].startswith("rank ")
    assert "layer.1.output.dense.weight" in failed["reason"]
    jsonschema.Draft202012Validator(schema).validate(failed)

    again = thinwire("sweep", document, "--json", "result.jsonl", "--only", "failed")

    assert again.returncode == 1, again.stderr
    assert [r["id"] for r in thinwire.read("result.jsonl")][2:] == [failed["id"]]


@pytest.mark.parametrize(
    "command",
    [
        ("sweep", "--devices", "1,2"),
        ("run", "--devices", "1"),
        ("run", "--devices", "2"),
        ("predict", "--devices", "2"),
    ],
    ids=lambda command: "-".join(command[0:3:2]),
)
def test_a_result_file_has_one_writer(command, thinwire, vit_tiny, write_document):
    points = [{"devices": 2, "iterations": 100000000}]
    document = write_document(document_of(vit_tiny, points=points))
    with thinwire.start("sweep", document, "--json", "result.jsonl") as first:
        first.wait_for(lambda: (thinwire.folder / "result.jsonl").exists())

        second = thinwire(*command, "--model", vit_tiny, "--json", "result.jsonl")

    assert second.returncode == 2, second.stderr
    assert "result.jsonl" in second.stderr and "another sweep" in second.stderr
    assert len(second.stderr.splitlines()) == 1
    assert thinwire.read("result.jsonl") == []


def test_a_second_job_under_mpirun_is_refused_too(thinwire, vit_tiny, write_document):
    points = [{"devices": 2, "iterations": 100000000}]
    document = write_document(document_of(vit_tiny, points=points))
    with thinwire.start("sweep", document, "--json", "result.jsonl") as first:
        first.wait_for(lambda: (thinwire.folder / "result.jsonl").exists())

        second = thinwire(
            "sweep", document, "--json", "result.jsonl",
            prefix=("mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2"),
            environment={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
        )  # fmt: skip

    assert second.returncode == 2, second.stderr
    assert second.stderr.count("another sweep") == 1


def test_a_sweep_killed_at_random_moments_ends_with_every_point_once(
    thinwire, vit_tiny, write_document, schema
):
    document = matrix_of(vit_tiny, strategy=["prism"], devices=[2, 3], segments=[1, 2])
    document["base"]["repeat"] = "0..5"
    document["base"]["iterations"] = 60
    document = write_document(document)
    result = thinwire.folder / "result.jsonl"
    counts = []

    def lines():
        return result.read_bytes().count(b"\n") if result.exists() else 0

    for round_number in range(4):
        with thinwire.start("sweep", document, "--json", result) as sweep:
            goal = lines() + 1 + round_number
            sweep.wait_for(lambda goal=goal: lines() >= goal or sweep.poll() is not None)
            time.sleep(0.013 * round_number)
            kill_session(sweep.pid, signal.SIGKILL)
        counts.append(lines())

    done = thinwire("sweep", document, "--json", result)

    assert done.returncode == 0, done.stderr
    assert 0 < counts[0] < counts[-1] < 24  # the kills came while it worked
    records = thinwire.read("result.jsonl")
    validator = jsonschema.Draft202012Validator(schema)
    for record in records:
        validator.validate(record)
    assert len({record["id"] for record in records}) == len(records) == 24
    assert {record["status"] for record in records} == {"ok"}


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_sweep_ends_its_ranks_and_says_how_to_go_on(
    stop, thinwire, vit_tiny, write_document
):
    points = [{"devices": 2}, {"devices": 2, "iterations": 100000000}]
    document = write_document(document_of(vit_tiny, points=points))
    result = thinwire.folder / "result.jsonl"
    with thinwire.start("sweep", document, "--json", result) as sweep:
        sweep.wait_for(lambda: result.exists() and result.read_bytes().count(b"\n") == 1)
        ranks = descendants(sweep.pid)
        os.kill(sweep.pid, stop)
        status, text = sweep.finish()

    assert status == 128 + stop
    assert f"stopped by {stop.name}; 1 of 2 points are not run yet" in text
    assert "goes on" in text
    assert len(ranks) >= 3  # mpirun and two ranks
    sweep.wait_for(lambda: not alive(ranks))
    assert len(thinwire.read("result.jsonl")) == 1


def test_sweeps_to_standard_output_still_run(thinwire, vit_tiny):
    done = thinwire("sweep", "--model", vit_tiny, "--devices", "1,2", "--json", "-")

    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["status"] for line in done.stdout.splitlines()] == ["ok", "ok"]


def test_help_teaches_repetitions_and_exclusions(thinwire):
    text = thinwire("sweep", "--help").stdout

    for word in ("--repeat 0..4", '"exclude"', "--only", "--resume", "--point-timeout"):
        assert word in text
