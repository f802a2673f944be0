import json

import matplotlib.image
import pytest

from synthetic import record, statistics
from thinwire_analysis import validation
from thinwire_analysis.cli import main

PASSES = 5
RATES_MBPS, SIZES = (10, 100), (1000, 100_000)
RUNS = {"voltage": 0.4, "prism": 0.2, "trace-b": 0.15}


def formula_s(devices, rate_mbps, size):
    return (devices - 1) * 8 * (size + 66 * -(-size // 1448)) / (rate_mbps * 1e6)


def points():
    return [(p, rate, size) for p in (2, 3) for rate in RATES_MBPS for size in SIZES]


def link_check(clock, devices, rate_mbps, size, time_s):
    return {
        "schema": "thinwire.link-check/1", "devices": devices, "bytes": size, "clock": clock,
        "link": {"rate_bit_per_s": rate_mbps * 1e6}, "warmup": 2,
        "formula_s": formula_s(devices, rate_mbps, size), "measured_s": statistics([time_s] * 3),
        "environment": {"cpu": "a processor"},
    }  # fmt: skip


def link_lines(clock, factor=1.0):
    return [link_check(clock, *point, factor * formula_s(*point)) for point in points()]


def smpi_lines():
    return [
        {"schema": "thinwire.smpi/1", "model": model, "devices": p, "rate_bit_per_s": rate * 1e6,
         "bytes": size, "simulated_s": factor * formula_s(p, rate, size)}
        for model, factor in (("cm02", 0.956), ("cm02-tcp", 1.0), ("smpi", 1.1))
        for p, rate, size in points()
    ]  # fmt: skip


def cables(devices, rate_mbps, dropped=0, lost=0):
    carried = PASSES * (devices - 1) * sum(SIZES)
    device = {
        "rate_bit_per_s": rate_mbps * 1e6, "burst_bytes": 1514, "sent_bytes": 1.05 * carried,
        "received_bytes": 1.05 * carried - lost, "dropped_frames": dropped,
    }  # fmt: skip
    return {"schema": "thinwire.netns/1", "devices": [device] * devices}


def run_lines(factor=1.0):
    return [
        record(strategy, 2, 10, links=[(rate * 1e6, [factor * time_s / rate], [0.1])],
               id=f"{strategy}-{rate}")
        for strategy, time_s in RUNS.items()
        for rate in RATES_MBPS
    ]  # fmt: skip


@pytest.fixture
def study(tmp_path):
    """Writes a results folder; keywords replace single files."""

    def write(**replaced):
        folder = tmp_path / "results"
        folder.mkdir(exist_ok=True)
        files = {
            "link-emulated": link_lines("emulated"),
            "link-throttled": link_lines("throttled", 1.01),
            "link-native": link_lines("native", 1.01),
            "smpi": smpi_lines(),
            "runs-emulated": run_lines(),
            "runs-native": run_lines(1.05),
        } | {name.replace("_", "-"): lines for name, lines in replaced.items() if name != "cables"}
        for name, lines in files.items():
            for line in lines:
                line.get("spec", {}).setdefault("active_codewords", 1024)
            text = "".join(json.dumps(line) + "\n" for line in lines)
            (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
        for p, rate in {point[:2] for point in points()}:
            found = replaced.get("cables", cables)(p, rate)
            (folder / f"cables-{p}-{rate}.json").write_text(json.dumps(found), encoding="utf-8")
        return folder

    return write


def failing(folder):
    found = validation.judge(folder, {"type": "object"})
    return {check.name: check.detail for check in found.checks if not check.passed}


def judge(folder, out):
    schema = folder.parent / "schema.json"
    schema.write_text('{"type": "object"}', encoding="utf-8")
    arguments = ["validation", "--results", folder, "--out", out, "--schema", schema]
    return main([str(argument) for argument in arguments])


def test_a_good_study_passes_and_leaves_report_table_and_figure(study, tmp_path, capsys):
    out = tmp_path / "out"

    status = judge(study(), out)

    printed = capsys.readouterr().out
    assert status == 0, printed
    assert printed.count("pass  ") == 7 and "FAIL" not in printed
    assert "throttled against the formula: median error 1.00 %" in printed
    report = (out / "validation.md").read_text(encoding="utf-8")
    assert "| SimGrid SMPI | 4 | 10.00 | +10.00 | +10.00 |" in report
    assert "| voltage | 2 | 10 | 40.0 | 42.0 | -4.8 |" in report
    height, width = matplotlib.image.imread(out / "validation.png").shape[:2]
    assert height > 500 and width > 2 * height
    assert len((out / "table.csv").read_text(encoding="utf-8").splitlines()) == 1 + 6 * 8


BROKEN = {
    "emulated = formula": {"link_emulated": link_lines("emulated", 1.001)},
    "throttled against the formula": {"link_throttled": link_lines("throttled", 1.04)},
    "emulated against the kernel's link": {"link_native": link_lines("native", 1.2)},
    "SimGrid (CM02, TCP factor) against the formula": {
        "smpi": [line | {"simulated_s": 1.1 * line["simulated_s"]} for line in smpi_lines()]
    },
    "payloads crossed the cables": {"cables": lambda p, rate: cables(p, rate, lost=10**6)},
    "whole runs, emulated against the kernel's link": {"runs_native": run_lines(1.2)},
    "complete": {"link_throttled": link_lines("throttled")[1:]},
}


@pytest.mark.parametrize("check", BROKEN)
def test_every_check_can_fail(check, study):
    assert check in failing(study(**BROKEN[check]))


def test_a_dropped_frame_fails(study):
    found = failing(study(cables=lambda p, rate: cables(p, rate, dropped=1)))

    assert list(found) == ["payloads crossed the cables"]
    assert "10 frames dropped" in found["payloads crossed the cables"]


def test_a_missing_file_is_named(study, tmp_path, capsys):
    folder = study()
    (folder / "smpi.jsonl").unlink()

    assert judge(folder, tmp_path / "out") == 2
    assert "smpi.jsonl" in capsys.readouterr().err


def test_a_line_of_another_schema_is_named(study, tmp_path, capsys):
    folder = study(link_native=[{"schema": "thinwire.result/1"}])

    assert judge(folder, tmp_path / "out") == 2
    assert "link-native.jsonl, line 1: schema 'thinwire.result/1'" in capsys.readouterr().err
