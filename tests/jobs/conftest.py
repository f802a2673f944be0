"""A Slurm of three nodes on this machine for the tests."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from places import JOBS

LOCAL_SLURM = JOBS / "local-slurm.sh"
NEEDED = ("slurmctld", "slurmd", "munged", "sbatch", "srun", "scancel", "scontrol")
TIMEOUT_S = 120


def missing_programs():
    path = f"{os.environ['PATH']}:/usr/sbin"
    return [program for program in NEEDED if shutil.which(program, path=path) is None]


class Slurm:
    """A running local Slurm; `folder` is private to it."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {
            **os.environ,
            "THINWIRE_SLURM_DIR": str(folder),
            "SLURM_CONF": str(folder / "slurm.conf"),
        }

    def __call__(self, *command, environment=None, check=True):
        done = subprocess.run(
            [str(part) for part in command],
            env={**self.environment, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def submit(self, script, log, environment, *options):
        """Submits through jobs/submit.sh; returns the job's number."""
        command = (JOBS / "submit.sh", script, "--parsable", f"--output={log}", *options)
        return self(*command, environment=environment).stdout.strip()

    def finish(self, job, log, expected="COMPLETED"):
        """Waits until the job has ended as expected; returns its log."""
        states = self.wait(lambda: self.ended_states(job))
        text = log.read_text(encoding="utf-8") if log.exists() else ""
        assert states == {expected}, f"{states}, log:\n{text}"
        return text

    def run(self, script, log, environment, *options):
        return self.finish(self.submit(script, log, environment, *options), log)

    def ended_states(self, job):
        """States of the job (an array: of its tasks) once all have ended; nothing before."""
        shown = self("scontrol", "show", "job", job).stdout.split()
        states = {word.split("=")[1] for word in shown if word.startswith("JobState=")}
        return states if states and not states & {"PENDING", "RUNNING", "COMPLETING"} else None

    def wait(self, condition):
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            if result := condition():
                return result
            time.sleep(0.1)
        raise AssertionError(f"not within {TIMEOUT_S} s; queue:\n{self('squeue').stdout}")


@pytest.fixture(scope="session")
def slurm():
    if missing := missing_programs():
        pytest.skip(f"no {', '.join(missing)} (Debian: slurm-wlm, munge)")
    # A short path: the socket's may have 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="thinwire-slurm-"))
    slurm = Slurm(folder)
    try:
        slurm(LOCAL_SLURM, "up", "3")
        yield slurm
    finally:
        slurm(LOCAL_SLURM, "down")
        shutil.rmtree(folder)
