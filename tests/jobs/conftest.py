"""A Slurm of three nodes on this machine for the tests, and the sweep that they submit to it."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("THINWIRE", REPOSITORY / "build/release/src/cli/thinwire")).resolve()
JOBS = REPOSITORY / "jobs"
LOCAL_SLURM = JOBS / "local-slurm.sh"
NEEDED = ("slurmctld", "slurmd", "munged", "sbatch", "srun", "scancel", "scontrol")
TIMEOUT_S = 120

DEVICES = (2, 3)
COMPRESSION_RATES = (2, 4)
POINTS = {("single", 1, None)}
POINTS |= {("voltage", devices, None) for devices in DEVICES}
POINTS |= {("prism", devices, rate) for devices in DEVICES for rate in COMPRESSION_RATES}

SWEEP = {
    "THINWIRE": str(BINARY),
    "MODEL": str(REPOSITORY / "tests/data/golden/models/vit-tiny"),
    "DEVICES": ",".join(map(str, DEVICES)),
    "COMPRESSION_RATES": ",".join(map(str, COMPRESSION_RATES)),
    "RATES": "100Mbps",
    "THREADS": "1",
    "ITERATIONS": "2",
    "WARMUP": "0",
    "TIME_LIMIT": "00:10:00",
}
# Throttled senders make a point take a known time at least, whatever the machine: some 0.5 s.
SLOW_SWEEP = {**SWEEP, "CLOCK": "throttled", "RATES": "1Mbps", "ITERATIONS": "15"}


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
    if not BINARY.exists():
        pytest.fail(f"no program {BINARY}: build the release preset or set THINWIRE")
    # A short path: the socket's may have 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="thinwire-slurm-"))
    slurm = Slurm(folder)
    try:
        slurm(LOCAL_SLURM, "up", "3")
        yield slurm
    finally:
        slurm(LOCAL_SLURM, "down")
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def schema():
    file = REPOSITORY / "schema" / "thinwire.result-1.schema.json"
    return json.loads(file.read_text(encoding="utf-8"))


def read_records(*files):
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return [json.loads(line) for line in lines]


def point_of(record):
    spec = record["spec"]
    return spec["strategy"], spec["devices"], record["traffic"]["compression_rate_requested"]
