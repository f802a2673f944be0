"""Jobs that are stopped, by whom ever, go on where they were: the same points, none twice."""

import pytest
from job_sweep import POINTS, SLOW_SWEEP, point_of, read_records
from places import JOBS

SCRIPT = JOBS / "emulated.sbatch"


def expect_every_point_once(result):
    assert sorted(map(point_of, read_records(result)), key=str) == sorted(POINTS, key=str)


class HalfDone:
    """A job that has some records and is not yet through."""

    def __init__(self, slurm, folder, **settings):
        self.result = folder / "result.jsonl"
        self.log = folder / "log"
        self.settings = {**SLOW_SWEEP, "RESULT": str(self.result), **settings}
        self.job = slurm.submit(SCRIPT, self.log, self.settings)
        slurm.wait(lambda: self.result.exists() and len(read_records(self.result)) >= 2)

    def expect_stopped_half_way(self):
        """Returns the records it got to; they must still be there afterwards."""
        lines = self.result.read_text(encoding="utf-8").splitlines()
        assert 2 <= len(lines) < len(POINTS)
        return lines


@pytest.mark.parametrize("launcher", ["srun", "mpirun"])
def test_a_cancelled_job_resumes_when_it_is_submitted_again(slurm, tmp_path, launcher):
    half = HalfDone(slurm, tmp_path, LAUNCHER=launcher)

    slurm("scancel", half.job)
    log = slurm.finish(half.job, half.log, expected="CANCELLED")
    before = half.expect_stopped_half_way()
    again = slurm.run(SCRIPT, tmp_path / "log-again", half.settings)

    assert "submit it again to resume" in log
    assert f"{len(before)} already there" in again
    assert half.result.read_text(encoding="utf-8").splitlines()[: len(before)] == before
    expect_every_point_once(half.result)


def test_a_requeued_job_resumes(slurm, tmp_path):
    half = HalfDone(slurm, tmp_path)

    slurm("scontrol", "requeue", half.job)
    before = half.expect_stopped_half_way()
    log = slurm.finish(half.job, half.log)

    assert "Restarts=1" in slurm("scontrol", "show", "job", half.job).stdout
    assert " already there" in log
    assert half.result.read_text(encoding="utf-8").splitlines()[: len(before)] == before
    expect_every_point_once(half.result)


def test_a_job_whose_time_is_nearly_up_requeues_itself(slurm, tmp_path):
    half = HalfDone(slurm, tmp_path)

    slurm("scancel", "--batch", "--signal=USR1", half.job)  # what --signal in submit.sh does
    log = slurm.finish(half.job, half.log)

    assert "Restarts=1" in slurm("scontrol", "show", "job", half.job).stdout
    assert "time is nearly up; requeued, resumes behind record" in log
    assert "submit it again" not in log
    expect_every_point_once(half.result)


def test_a_job_that_gets_nowhere_in_its_time_is_not_requeued(slurm, tmp_path):
    settings = {**SLOW_SWEEP, "ITERATIONS": "100000", "RESULT": str(tmp_path / "result.jsonl")}
    job = slurm.submit(SCRIPT, tmp_path / "log", settings)
    started = tmp_path / "result.sweep.json"
    slurm.wait(started.exists)

    slurm("scancel", "--batch", "--signal=USR1", job)
    log = slurm.finish(job, tmp_path / "log", expected="FAILED")

    assert "not one point was done within TIME_LIMIT=00:10:00; give it more" in log
