"""thinwire in a batch script of one's own, where Slurm has set variables but launched no ranks."""

import pytest
from job_sweep import SWEEP
from places import BINARY

VOLTAGE = f"{BINARY} run --model {SWEEP['MODEL']} --strategy voltage --iterations 1 --warmup 0"


@pytest.fixture
def run_lines(slurm, tmp_path):
    """Runs lines of shell as a job of two tasks; returns its log. They must all succeed."""

    def run(*lines):
        script, log = tmp_path / "own.sbatch", tmp_path / "own.log"
        script.write_text("\n".join(("#!/bin/bash -e", *lines)), encoding="utf-8")
        job = slurm("sbatch", "--parsable", "--ntasks=2", f"--output={log}", script).stdout.strip()
        return slurm.finish(job, log)

    return run


def test_run_starts_its_own_ranks(run_lines):
    log = run_lines("echo rank=$SLURM_PROCID", f"{VOLTAGE} --devices 2")

    assert "rank=0" in log  # or this test shows nothing
    assert "voltage on 2 devices" in log
    assert "counted = predicted" in log


def test_predict_and_a_single_device_need_none(run_lines):
    log = run_lines(
        f"{BINARY} predict --strategy voltage --devices 3",
        f"{VOLTAGE.replace('voltage', 'single')}",
    )

    assert "voltage on 3 devices" in log
    assert "single on 1 device" in log


def test_a_user_mistake_is_said_once(run_lines):
    log = run_lines(
        f"{VOLTAGE} --devices 99 || echo status=$?",
        f"srun --mpi=pmix -n 2 {VOLTAGE} --devices 99 || echo status=$?",
    )

    assert log.count("--devices=99") == 2  # one line a command, whatever its ranks
    assert log.count("status=2") == 2


def test_srun_without_mpi_is_refused_instead_of_hanging(run_lines):
    log = run_lines(f"srun --mpi=none -n 2 {VOLTAGE} --devices 2 || echo status=$?")

    refusal = "srun started 2 tasks without MPI; use srun --mpi=pmix, or mpirun in its place"
    assert log.count(refusal) == 1
    assert "status=2" in log
