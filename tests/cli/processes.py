"""Programs that a test starts, watches, and kills with all that they started."""

import os
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

TIMEOUT_S = 120


def process_table():
    """(pid, parent, session, state) of every process."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # it has ended meanwhile
        fields = text.rpartition(")")[2].split()
        yield int(stat.parent.name), int(fields[1]), int(fields[3]), fields[0]


def alive(pids):
    """Those that still run; an ended one that nobody has waited for does not."""
    return [pid for pid, _, _, state in process_table() if pid in pids and state != "Z"]


def descendants(pid):
    """All processes below `pid`, itself left out."""
    table = list(process_table())
    found = [pid]
    for parent in found:
        found += [child for child, its_parent, _, _ in table if its_parent == parent]
    return found[1:]


def ranks_of(pid):
    """The thinwire processes that a sweep or an mpirun started, in the order of their ranks."""
    found = {}
    for child in descendants(pid):
        try:
            environment = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        for entry in environment:
            if entry.startswith(b"OMPI_COMM_WORLD_RANK="):
                found[int(entry.partition(b"=")[2])] = child
    return [found[rank] for rank in sorted(found)]


def kill_session(leader, signal_number):
    """Every process of the session that a test made with start_new_session."""
    while True:
        members = [pid for pid, _, session, _ in process_table() if session == leader]
        if not alive(members):
            return
        for pid in members:
            try:
                os.kill(pid, signal_number)
            except ProcessLookupError:
                pass
        time.sleep(0.01)


class Started:
    def __init__(self, folder, command, environment):
        self.log = folder / "stderr.log"
        with self.log.open("w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [str(word) for word in command],
                cwd=folder,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        self.pid = self.process.pid

    def poll(self):
        return self.process.poll()

    def wait_for(self, condition):
        end = time.monotonic() + TIMEOUT_S
        while not condition():
            assert time.monotonic() < end, self.log.read_text(encoding="utf-8")
            time.sleep(0.005)

    def finish(self):
        """Exit status (negative after a signal) and what it said on standard error."""
        status = self.process.wait(timeout=TIMEOUT_S)
        return status, self.log.read_text(encoding="utf-8")


@contextmanager
def started(folder, command, environment):
    """A program in a session of its own, all of which is killed at the end."""
    program = Started(folder, command, environment)
    try:
        yield program
    finally:
        kill_session(program.pid, signal.SIGKILL)
        program.process.wait(timeout=TIMEOUT_S)
