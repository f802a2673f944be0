import csv
import json

import pytest

from synthetic import duplication_sweep, latency_sweep, table_cells
from thinwire_analysis.cli import main

ANY_RECORD = {"type": "object", "required": ["schema", "spec"]}


@pytest.fixture
def results(tmp_path):
    """A results folder as experiments/reproduce.sh leaves it."""
    folder = tmp_path / "results"
    folder.mkdir()
    write_lines(folder / "prism-tables.jsonl", latency_sweep(160e9))
    write_lines(folder / "latency-measured.jsonl", latency_sweep(250e9))
    write_lines(folder / "latency-modelled.jsonl", latency_sweep(160e9))
    write_lines(folder / "duplication.jsonl", duplication_sweep())
    (folder / "tables.json").write_text(json.dumps(table_cells(unequal_totals=5)))
    (folder / "tables.md").write_text("# A paper\n\n## ViT\n\n| a table |\n")
    return folder


def write_lines(path, records):
    path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")


def run(results, out):
    schema = results.parent / "schema.json"
    schema.write_text(json.dumps(ANY_RECORD), encoding="utf-8")
    return main(["prism", "--results", str(results), "--out", str(out), "--schema", str(schema)])


def test_writes_report_figures_and_tables_and_passes(results, tmp_path, capsys):
    out = tmp_path / "out"

    status = run(results, out)

    printed = capsys.readouterr().out
    assert status == 0, printed
    assert "FAIL" not in printed
    assert "GFLOPs totals equal to the printed digit: 33 of 38" in printed
    assert "single device, measured: 140.6 ms, 250 GFLOP/s" in printed
    assert {path.name for path in out.iterdir()} >= {
        "report.md", "latency-measured.png", "latency-modelled.png", "latency-cuts.md",
        "latency-cuts.csv", "latency-crossings.csv", "latency-measured.csv",
        "latency-modelled.csv", "duplication.md", "duplication.csv",
    }  # fmt: skip


def test_the_report_holds_every_part(results, tmp_path):
    run(results, tmp_path)

    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "### ViT" in text and "# A paper" not in text
    assert "biased upward" in text
    assert "140.6 ms, 250 GFLOP/s" in text
    assert "- cpu: a processor" in text
    for name in ("latency-measured.png", "latency-modelled.png"):
        assert f"]({name})" in text and (tmp_path / name).exists()


def test_csv_files_have_a_row_a_point(results, tmp_path):
    run(results, tmp_path)

    with open(tmp_path / "latency-measured.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 50
    assert rows[0]["strategy"] == "single"


def test_modelled_cuts_away_from_the_published_ones_fail(results, tmp_path, capsys):
    write_lines(results / "latency-modelled.jsonl", latency_sweep(250e9))

    assert run(results, tmp_path) == 1
    assert "FAIL  modelled cut at 200 Mbps, P=2 L=10" in capsys.readouterr().out


def test_a_count_that_differs_from_its_prediction_fails(results, tmp_path, capsys):
    records = latency_sweep(160e9)
    records[1]["checks"]["counted_equals_predicted"] = False
    write_lines(results / "prism-tables.jsonl", records)

    assert run(results, tmp_path) == 1
    assert "FAIL  counted = predicted" in capsys.readouterr().out


def test_a_failed_point_fails_with_its_reason(results, tmp_path, capsys):
    records = latency_sweep(160e9)
    records[1].update(status="failed", reason="rank 1 ended")
    write_lines(results / "prism-tables.jsonl", records)

    assert run(results, tmp_path) == 1
    assert "FAIL  prism-tables finished: 4 of 5 points (failed: rank 1 ended)" in capsys.readouterr().out


def test_a_missing_file_is_bad_input(results, tmp_path, capsys):
    (results / "duplication.jsonl").unlink()

    assert run(results, tmp_path) == 2
    assert "duplication.jsonl" in capsys.readouterr().err
