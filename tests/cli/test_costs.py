"""The commands of experiments/costs that read memory and start-up."""

import importlib.util
import json
import os
import subprocess

import pytest
from places import BINARY, REPOSITORY, VIT_TINY

COSTS = REPOSITORY / "experiments" / "costs"
TIMEOUT_S = 200
SMAPS = """\
55d0-55d1 rw-p 00000000 00:00 0                          [heap]
Rss:                 100 kB
Pss:                 100 kB
Private_Clean:         0 kB
Private_Dirty:       100 kB
7f00-7f01 r-xp 00000000 fe:00 326518                     /usr/lib/libdnnl.so.2.6
Pss:                  50 kB
Private_Clean:        40 kB
Private_Dirty:         8 kB
7f02-7f03 rw-s 00000000 00:01 109434                     /memfd:thinwire (deleted)
Pss:                 300 kB
Private_Dirty:       200 kB
7f04-7f05 rw-s 00000000 00:1b 29323                      /dev/shm/vader_segment.0
Pss:                   6 kB
Private_Dirty:         4 kB
7f06-7f07 rw-p 00000000 00:00 0
Private_Dirty:        12 kB
"""


def load(name):
    spec = importlib.util.spec_from_file_location(name, COSTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def call(script, *arguments):
    return subprocess.run(
        [COSTS / script, *map(str, arguments)], capture_output=True, text=True, timeout=TIMEOUT_S,
        env={**os.environ, "THINWIRE": str(BINARY)},
    )  # fmt: skip


@pytest.fixture
def memory():
    return load("memory")


def sample(memory, private, shared):
    """Of one rank for each pair."""
    ranks = {i: memory.Held(*pair) for i, pair in enumerate(zip(private, shared))}
    return memory.Sample(0.0, ranks)


def record(activations, codebooks=0):
    per_device = {"activations_bytes": activations, "codebooks_bytes": [codebooks],
                  "buffers_bytes": [0]}  # fmt: skip
    return {"memory": {"per_device": per_device}}


def test_private_memory_is_what_one_process_wrote_outside_the_node_memory(memory):
    assert memory.held(SMAPS) == memory.Held(private=124 * 1024, shared=306 * 1024)


def test_private_memory_beyond_the_limit_and_the_activations_of_its_rank_fails(memory):
    def judged(private):
        samples = [sample(memory, [5_000_000, private], [100, 0])]
        return memory.judge("voltage", record([0, 3_000_000]), samples, 100)

    assert judged(15_000_000)["passed"]
    assert not judged(15_000_001)["passed"]


def test_shared_memory_beyond_what_is_packed_fails(memory):
    def judged(shared, strategy="astra"):
        samples = [sample(memory, [0, 0], [shared, 0])]
        return memory.judge(strategy, record([0, 0], codebooks=100), samples, 900)

    assert judged(1050)["passed"]
    assert not judged(1051)["passed"]
    assert judged(1995, "tensor")["passed"]  # slices are the model once more


def test_samples_of_the_set_up_and_of_the_end_do_not_count(memory):
    samples = [memory.Sample(t, {0: memory.Held(1, 1)}) for t in range(20)]
    samples[15] = memory.Sample(15, {})  # a rank that was not there

    read = memory.during_passes(samples, end_s=20, duration_s=10, devices=1)

    assert [s.time_s for s in read] == [10, 11, 12, 13, 14, 16]


def test_memory_of_a_run_is_read_from_its_ranks(tmp_path):
    figures = tmp_path / "figures.json"

    done = call("memory.sh", "--devices", 2, "--strategies", "prism", "--iterations", 15,
                "--json", figures)  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    (figure,) = json.loads(figures.read_text())
    assert len(figure["private_bytes"]) == 2
    assert min(figure["private_bytes"]) > max(figure["activations_bytes"]) + 1_000_000
    assert 0.99 < figure["shared_over_packed"] < 1.05


def test_memory_names_an_unknown_strategy():
    done = call("memory.sh", "--strategies", "voltage,nothing")

    assert done.returncode == 2
    assert "nothing is none of voltage" in done.stderr


def test_start_up_is_timed_for_both_kinds_of_weights(tmp_path):
    figures = tmp_path / "figures.json"

    done = call("startup.sh", "--model", VIT_TINY, "--folder", VIT_TINY, "--devices", "1,2",
                "--rounds", 1, "--json", figures)  # fmt: skip

    assert done.returncode in (0, 1), done.stderr
    by_case = {figure["case"]: figure for figure in json.loads(figures.read_text())}
    assert list(by_case) == [
        "1 device, weights generated", "1 device, weights loaded",
        "2 devices, weights generated", "2 devices, weights loaded", "2 devices, mpirun alone",
    ]  # fmt: skip
    assert by_case["2 devices, mpirun alone"]["passed"] is None
    assert all(figure["min_s"] <= figure["median_s"] <= figure["max_s"]
               for figure in by_case.values())  # fmt: skip


def test_start_up_fails_beyond_its_limit_where_it_is_asked():
    startup = load("startup")

    assert startup.judge(2, "2 devices, weights loaded", [1.4, 1.5, 9.0])["passed"] is True
    assert startup.judge(2, "2 devices, weights loaded", [1.4, 1.6, 9.0])["passed"] is False
    assert startup.judge(10, "10 devices, weights loaded", [1.6])["passed"] is None
    assert startup.judge(2, "2 devices, mpirun alone", [1.6])["passed"] is None


def test_the_model_that_start_up_makes_is_one_that_the_program_reads(thinwire, tmp_path):
    load("startup").write_model(tmp_path)

    done = thinwire("predict", "--model", tmp_path, "--strategy", "single", "--json", "-")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["memory"]["weights_bytes"] > 340_000_000
