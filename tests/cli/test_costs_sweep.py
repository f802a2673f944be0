"""The script that times sweeps: its figures on a tiny model, and how it reads what it saw."""

import importlib.util
import json
import os
import subprocess

import pytest
from places import BINARY, REPOSITORY, VIT_TINY

SCRIPT = REPOSITORY / "experiments" / "costs" / "sweep.sh"
TIMEOUT_S = 300


@pytest.fixture(scope="module")
def costs():
    spec = importlib.util.spec_from_file_location("costs_sweep", SCRIPT.with_suffix(".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def record_of(compute_s, overhead, wait_s=0.0, shared=None):
    time = {
        "emulation_overhead": overhead,
        "links": [
            {
                "per_device": [{"compute_s": {"mean": c, "samples": [c]}} for c in compute_s],
                "wait_s": {"mean": wait_s},
            }
        ],
    }
    if shared:
        time["shared_execution"] = {"points": shared}
    return {"spec": {"iterations": 3, "warmup": 1}, "time": time}


def test_overhead_is_what_iterations_leave_of_the_time_between_records(costs):
    records = [record_of([0.1, 0.2], 1.1) for _ in range(3)]

    overheads = costs.overheads_s(records, [5.0, 6.5, 7.9])

    assert overheads == pytest.approx([1.5 - 4 * 0.33, 1.4 - 4 * 0.33])


def test_records_seen_at_once_came_evenly(costs):
    arrivals = [1.0]

    costs.add_arrivals(arrivals, 3, 2.0)
    costs.add_arrivals(arrivals, 3, 2.5)

    assert arrivals == [1.0, 1.5, 2.0]


def test_a_curve_of_several_executions_is_refused(costs):
    curve = [record_of([0.1], 1, wait, shared=2) for wait in (0.3, 0.2)]
    costs.require_one_execution(curve, 2)

    for broken in (
        [record_of([0.1], 1, wait) for wait in (0.3, 0.2)],
        [record_of([0.1 + wait], 1, wait, shared=2) for wait in (0.3, 0.2)],
    ):
        with pytest.raises(SystemExit, match="one execution"):
            costs.require_one_execution(broken, 2)
    with pytest.raises(SystemExit, match="wait less"):
        costs.require_one_execution(curve[::-1], 2)


def test_a_figure_beyond_its_limit_fails(costs, capsys):
    assert costs.show("good", [0.01, 0.02, 0.03], 1e3, "ms", 0.05)
    assert not costs.show("bad", [0.06, 0.07, 0.08], 1e3, "ms", 0.05)

    good, bad = capsys.readouterr().out.splitlines()
    assert "20.000 ms" in good and "<= 50 ms" in good and good.endswith("pass")
    assert bad.endswith("FAIL")


def test_the_script_prints_every_figure(tmp_path):
    figures = tmp_path / "figures.json"
    done = subprocess.run(
        [SCRIPT, "--model", VIT_TINY, "--threads", "1", "--points", "16", "--rates", "3",
         "--rounds", "2", "--iterations", "1", "--json", figures],
        capture_output=True, text=True, timeout=TIMEOUT_S,
        env={**os.environ, "THINWIRE": str(BINARY)},
    )  # fmt: skip

    assert done.returncode in (0, 1), done.stderr  # times are the script's affair
    for name in ("fixed overhead of a point", "3 rates, curve", "3 rates, one by one"):
        assert name in done.stdout
    report = json.loads(figures.read_text(encoding="utf-8"))
    assert len(report["overhead_s"]) == 15
    assert {len(walls) for walls in report["wall_s"].values()} == {2}
    assert report["passed"] == (done.returncode == 0)
