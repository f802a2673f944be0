"""What happens when ranks die or hang, disks fill up and places cannot be written."""

import os
import resource
import shutil
import signal
import subprocess
import time

import pytest
from processes import alive, kill_session, ranks_of

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
MPIRUN = ("mpirun", "--oversubscribe", "--bind-to", "none", "-n", "3")
ENDLESS = {"strategy": "voltage", "devices": 3, "iterations": 100000000}
SHORT = {"strategy": "voltage", "devices": 3, "iterations": 1}


@pytest.fixture
def endless_sweep(vit_tiny, write_document):
    """A point that is over at once, one that never ends, and one behind it."""
    base = {"model": str(vit_tiny), "warmup": 0}
    points = [SHORT, ENDLESS, {**SHORT, "devices": 2}]
    return write_document({"base": base, "points": points})


def lines_of(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_for_the_endless_point(program, result):
    program.wait_for(lambda: lines_of(result) == 1)
    time.sleep(0.3)  # into its iterations


def seconds_to_a_record(sweep, result, rank, sent):
    """From the signal to a rank in the endless point until that point has a record."""
    wait_for_the_endless_point(sweep, result)
    os.kill(ranks_of(sweep.pid)[rank], sent)
    begin = time.monotonic()
    sweep.wait_for(lambda: lines_of(result) == 2)
    return time.monotonic() - begin


@pytest.mark.parametrize("rank", [0, 2])
def test_a_killed_rank_costs_its_point_alone(rank, thinwire, endless_sweep):
    result = thinwire.folder / "result.jsonl"
    with thinwire.start("sweep", endless_sweep, "--json", result) as sweep:
        elapsed_s = seconds_to_a_record(sweep, result, rank, signal.SIGKILL)
        status, text = sweep.finish()

    records = thinwire.read("result.jsonl")
    assert status == 1, text
    assert elapsed_s < 10
    assert [r["status"] for r in records] == ["ok", "failed", "ok"]
    assert records[1]["reason"] == f"rank {rank} was killed by signal 9 (Killed)"
    assert f"rank {rank} was killed by signal 9" in text


def test_a_killed_rank_ends_a_job_under_mpirun(thinwire, endless_sweep):
    result = thinwire.folder / "result.jsonl"
    with thinwire.start(
        "sweep", endless_sweep, "--json", result, prefix=MPIRUN, environment=AS_ROOT
    ) as job:
        wait_for_the_endless_point(job, result)
        os.kill(ranks_of(job.pid)[1], signal.SIGKILL)
        begin = time.monotonic()
        status, text = job.finish()
        elapsed_s = time.monotonic() - begin

    assert status not in (0, None)
    assert elapsed_s < 10
    assert "rank 1" in text
    assert [r["status"] for r in thinwire.read("result.jsonl")] == ["ok"]


def test_a_killed_rank_ends_a_run(thinwire, vit_tiny):
    options = ("--model", vit_tiny, "--devices", "2", "--iterations", "100000000")
    with thinwire.start("run", *options, "--json", "result.jsonl") as run:
        run.wait_for(lambda: len(ranks_of(run.pid)) == 2)
        time.sleep(0.5)
        os.kill(ranks_of(run.pid)[1], signal.SIGKILL)
        begin = time.monotonic()
        status, text = run.finish()
        elapsed_s = time.monotonic() - begin

    assert status not in (0, None)
    assert elapsed_s < 10
    assert "rank 1" in text


def test_a_hung_rank_trips_the_watchdog_which_names_it(thinwire, endless_sweep):
    result = thinwire.folder / "result.jsonl"
    with thinwire.start("sweep", endless_sweep, "--json", result, "--timeout", "2s") as sweep:
        elapsed_s = seconds_to_a_record(sweep, result, 1, signal.SIGSTOP)
        status, text = sweep.finish()

    records = thinwire.read("result.jsonl")
    assert status == 1, text
    assert elapsed_s < 12
    assert [r["status"] for r in records] == ["ok", "failed", "ok"]
    assert "no progress for 2 s: rank 1 (stopped) in '" in records[1]["reason"]
    assert "of layer" in records[1]["reason"]


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, check=False, stderr=subprocess.DEVNULL).returncode:
        pytest.skip("mounting a small file system needs root")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("devices", ["1", "2"])
def test_a_full_disk_is_one_line_and_loses_nothing(devices, thinwire, vit_tiny, small_disk):
    result = small_disk / "result.jsonl"
    many = ("--repeat", "0..40", "--iterations", "20", "--clock", "modelled", "--device-gflops", "1")

    done = thinwire("sweep", "--model", vit_tiny, "--devices", devices, *many, "--json", result)

    assert done.returncode == 1, done.stderr
    said = [line for line in done.stderr.splitlines() if "cannot append to" in line]
    assert len(said) == 1 and str(result) in said[0]
    text = result.read_text(encoding="utf-8")
    records = thinwire.read(result)
    assert text.endswith("\n") and 1 < len(records) < 41
    rescued = [line for line in done.stdout.splitlines() if line.startswith('{"schema"')]
    assert len(rescued) == 1  # what did not fit is on standard output

    result.write_text(text[: text.index("\n") + 1], encoding="utf-8")  # room again
    again = thinwire("sweep", "--model", vit_tiny, "--devices", devices, *many, "--repeat", "0..3", "--json", result)

    assert again.returncode == 0, again.stderr
    assert [r["spec"]["repeat"] for r in thinwire.read(result)] == [0, 1, 2, 3]


def test_a_file_beyond_the_users_limit_is_reported(thinwire, vit_tiny):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    command = [str(word) for word in (thinwire.binary, "run", "--model", vit_tiny, "--json", "result.jsonl")]
    done = subprocess.run(
        command, cwd=thinwire.folder, preexec_fn=limit, capture_output=True, text=True, check=False, timeout=60
    )  # fmt: skip

    assert done.returncode == 1, done.stderr
    assert "cannot append to result.jsonl" in done.stderr
    assert "latency" in done.stdout  # what was measured is shown all the same
    assert (thinwire.folder / "result.jsonl").read_bytes() == b""


@pytest.mark.parametrize("command", ["run", "sweep", "predict"])
@pytest.mark.parametrize("place", ["nowhere/result.jsonl", "/proc/result.jsonl"])
def test_a_place_that_cannot_be_written_is_refused_before_anything_runs(
    command, place, thinwire, vit_tiny
):
    done = thinwire(command, "--model", vit_tiny, "--devices", "2", "--json", place)

    assert done.returncode == 2, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert f"--json={place}" in done.stderr
    assert thinwire.files() == []


def test_a_supervisor_that_is_killed_takes_its_job_along(thinwire, endless_sweep):
    result = thinwire.folder / "result.jsonl"
    with thinwire.start("sweep", endless_sweep, "--json", result) as sweep:
        wait_for_the_endless_point(sweep, result)
        ranks = ranks_of(sweep.pid)
        sweep.process.kill()
        begin = time.monotonic()
        sweep.wait_for(lambda: not alive(ranks))
        assert time.monotonic() - begin < 10
        kill_session(sweep.pid, signal.SIGKILL)
    assert lines_of(result) == 1
