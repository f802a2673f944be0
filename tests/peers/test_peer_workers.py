"""The line protocol, from both sides."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tiny_peers import ROOM
from workers import Skipped, Worker, WorkerError


def state(process_id):
    """"T": stopped; "gone" when there is no such process."""
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "gone"


def wait_for(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


@pytest.fixture
def started(pretender):
    worker = Worker("pretender", pretender("1,2,3")).started()
    yield worker
    worker.end()


def test_worker_times_itself_and_writes_its_outputs(started, tmp_path):
    assert started.version == "pretender 1.0"
    assert 0 <= started.seconds() < 1

    assert started.write_output(tmp_path / "out") == 3
    assert np.fromfile(tmp_path / "out", dtype=np.float32).tolist() == [1, 2, 3]


def test_worker_is_stopped_unless_it_is_asked(started):
    process_id = started._process.pid

    assert wait_for(lambda: state(process_id) == "T")
    started.seconds()
    assert wait_for(lambda: state(process_id) == "T")
    started.end()
    assert state(process_id) == "gone"


def test_engine_that_is_not_there_says_why(pretender):
    with pytest.raises(Skipped, match="^ImportError: No module named 'engine'$"):
        Worker("pretender", pretender("fail")).started()


def test_program_that_ends_is_skipped_with_its_last_words(tmp_path):
    words = [sys.executable, "-c", "import sys; sys.exit('no licence')"]

    with pytest.raises(Skipped, match="ended: no licence"):
        Worker("rude", words, log=tmp_path / "log").started()


def test_program_that_is_not_there_is_named():
    with pytest.raises(Skipped, match="^/nowhere/worker: No such file or directory$"):
        Worker("absent", ["/nowhere/worker"])


def test_unknown_command_is_an_error(started):
    with pytest.raises(WorkerError, match="pretender: answered \"error unknown command ceiling\""):
        started.seconds("ceiling")


def test_worker_that_dies_is_an_error(started):
    os.kill(started._process.pid, signal.SIGKILL)

    with pytest.raises(WorkerError, match="pretender: ended"):
        started.seconds()


def test_stopped_worker_ends_with_the_script(pretender):
    words = [str(word) for word in pretender()]
    script = (f"import sys, time; sys.path.insert(0, {str(ROOM)!r})\n"
              f"from workers import Worker\nworker = Worker('pretender', {words!r}).started()\n"
              "print(worker._process.pid, flush=True)\ntime.sleep(60)\n")
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        worker_id = int(process.stdout.readline())
        assert wait_for(lambda: state(worker_id) == "T")

        process.kill()

    assert wait_for(lambda: state(worker_id) in ("gone", "Z"))
