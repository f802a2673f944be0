"""The scripts of jobs/ at the edge: wrong arguments, a Slurm that is up twice or not at all."""

import os
import shutil
import subprocess

import pytest
from places import BINARY, JOBS


def run(*command, **environment):
    return subprocess.run(
        [str(part) for part in command],
        env={**os.environ, **{name: str(value) for name, value in environment.items()}},
        capture_output=True,
        text=True,
        timeout=30,
    )


@pytest.mark.parametrize("script", ["submit.sh", "local-slurm.sh"])
def test_usage(script):
    wrong = run(JOBS / script)
    helped = run(JOBS / script, "--help")

    assert wrong.returncode == 2
    assert "Usage: jobs/" in wrong.stderr
    assert helped.returncode == 0
    assert "Example" in helped.stdout


def test_submit_names_a_script_that_is_not_there():
    done = run(JOBS / "submit.sh", "jobs/absent.sbatch")

    assert done.returncode == 2
    assert "absent.sbatch: no such script" in done.stderr


def test_sweep_names_a_program_that_is_not_there():
    done = run(JOBS / "sweep.sh", THINWIRE="absent/thinwire")

    assert done.returncode == 2
    assert "no absent/thinwire; build it or set THINWIRE" in done.stderr


def test_sweep_names_a_wrong_word():
    done = run(JOBS / "sweep.sh", BASELINES="no", THINWIRE=BINARY)

    assert done.returncode == 2
    assert "BASELINES=no: with, without or only is needed" in done.stderr


def test_up_refuses_a_second_slurm_in_the_same_folder(slurm):
    done = slurm(JOBS / "local-slurm.sh", "up", check=False)

    assert done.returncode == 1
    assert "it is up already" in done.stderr
    assert "slurmctld  pid" in slurm(JOBS / "local-slurm.sh", "status").stdout


def test_run_shows_the_log_and_passes_on_the_status(slurm, tmp_path):
    script = tmp_path / "own.sbatch"
    script.write_text("#!/bin/bash\necho from the job\nexit 3\n", encoding="utf-8")

    done = slurm(JOBS / "local-slurm.sh", "run", script, check=False)

    assert done.returncode == 3
    assert "from the job" in done.stdout


def test_down_without_up_is_no_error(tmp_path):
    folder = tmp_path / "none"

    assert run(JOBS / "local-slurm.sh", "down", THINWIRE_SLURM_DIR=str(folder)).returncode == 0
    status = run(JOBS / "local-slurm.sh", "status", THINWIRE_SLURM_DIR=str(folder))
    assert status.returncode == 1
    assert "slurmctld  not running" in status.stdout


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="no shellcheck")
def test_scripts_are_clean():
    scripts = sorted([*JOBS.glob("*.sh"), *JOBS.glob("*.sbatch")])

    done = run("shellcheck", "-x", f"--source-path={JOBS.parent}", *scripts)

    assert done.returncode == 0, done.stdout
