"""The sbatch scripts are submitted, and their records arrive: every point, none twice, valid."""

import jsonschema
import pytest
from job_sweep import POINTS, SWEEP, point_of, read_records
from places import JOBS

LAUNCHERS = ("srun", "mpirun")


def expect_every_point_once(records, schema):
    assert sorted(map(point_of, records), key=str) == sorted(POINTS, key=str)
    for record in records:
        jsonschema.validate(record, schema)
        assert record["status"] == "ok"
        assert record["checks"]["counted_equals_predicted"] is True


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_emulation_on_one_node(slurm, schema, tmp_path, launcher):
    result = tmp_path / "result.jsonl"
    settings = {**SWEEP, "LAUNCHER": launcher, "RESULT": str(result)}

    slurm.run(JOBS / "emulated.sbatch", tmp_path / "log", settings)

    expect_every_point_once(read_records(result), schema)


@pytest.mark.parametrize(
    "launcher, clock", [("srun", "native"), ("mpirun", "native"), ("srun", "throttled")]
)
def test_one_device_a_node(slurm, schema, tmp_path, launcher, clock):
    result = tmp_path / "result.jsonl"
    settings = {**SWEEP, "CLOCK": clock, "LAUNCHER": launcher, "RESULT": str(result)}

    job = slurm.submit(JOBS / "native.sbatch", tmp_path / "log", settings)
    slurm.finish(job, tmp_path / "log")

    assert "NumNodes=3 " in slurm("scontrol", "show", "job", job).stdout
    records = read_records(result)
    expect_every_point_once(records, schema)
    assert {record["spec"]["clock"] for record in records} == {clock}


def test_an_array_has_every_point_in_files_that_read_together(slurm, schema, tmp_path):
    settings = {**SWEEP, "RESULTS": str(tmp_path / "array")}

    slurm.run(JOBS / "array.sbatch", tmp_path / "log", settings)

    files = sorted((tmp_path / "array").glob("*.jsonl"))
    assert len(files) == 5  # the baselines, and a pair each
    expect_every_point_once(read_records(*files), schema)


def test_partition_and_time_come_from_the_site(slurm, tmp_path):
    settings = {**SWEEP, "PARTITION": "local", "TIME_LIMIT": "00:07:00"}

    job = slurm.submit(JOBS / "emulated.sbatch", tmp_path / "log", settings, "--hold")

    shown = slurm("scontrol", "show", "job", job).stdout
    slurm("scancel", job)
    assert "TimeLimit=00:07:00" in shown
    assert "Partition=local" in shown
    absent = slurm(
        JOBS / "submit.sh",
        JOBS / "emulated.sbatch",
        environment={**settings, "PARTITION": "absent"},
        check=False,
    )
    assert absent.returncode != 0
    assert "partition" in absent.stderr


def test_an_unknown_launcher_is_named(slurm, tmp_path):
    settings = {**SWEEP, "LAUNCHER": "prun", "RESULT": str(tmp_path / "result.jsonl")}

    job = slurm.submit(JOBS / "emulated.sbatch", tmp_path / "log", settings)

    log = slurm.finish(job, tmp_path / "log", expected="FAILED")
    assert "launcher=prun (jobs/site.sh, LAUNCHER): srun or mpirun is needed" in log
