import json
import os
import re
import subprocess
import sys

import pytest

from synthetic import duplication_sweep, latency_sweep, record, table_cells
from thinwire_analysis.cli import REPOSITORY
from thinwire_analysis.html_report.cli import main

ANY_RECORD = {"type": "object", "required": ["schema", "spec"]}


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(ANY_RECORD), encoding="utf-8")
    return path


@pytest.fixture
def build(tmp_path, schema):
    """Writes files into results/ and builds the page; returns its text, or the exit status."""

    def build_page(files, *options):
        folder = tmp_path / "results"
        folder.mkdir(exist_ok=True)
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            text = content if isinstance(content, str) else lines(content)
            (folder / name).write_text(text, encoding="utf-8")
        page = tmp_path / "report.html"
        arguments = [str(folder), "-o", str(page), "--schema", str(schema), *map(str, options)]
        status = main(arguments)
        return page.read_text(encoding="utf-8") if status == 0 else status

    return build_page


def lines(records):
    return "".join(json.dumps(r) + "\n" for r in records)


def headings(page):
    return [re.sub(r"<.*?>", "", text) for text in re.findall(r"<h[34][^>]*>(.*?)</h[34]>", page)]


def failed(name="dead"):
    made = record("prism", 3, 10, links=[(1e8, [0.1], [0.1])])
    made.update(id=name, status="failed", reason="rank 1 <ended>", time=None, operations=None)
    return made


def scored(strategy, devices, ratio, value, **more):
    made = record(strategy, devices, links=[(1e8, [0.1, 0.2], [0.1, 0.1])], **more)
    made["id"] += f"-{ratio}"
    made["traffic"]["compression_rate"] = ratio
    made["accuracy"] = {
        "metric": "accuracy", "value": value, "samples": 100,
        "interval_95": [value - 0.02, value + 0.02],
    }  # fmt: skip
    return made


def test_the_page_refers_to_nothing_outside_itself(build):
    page = build({"a.jsonl": latency_sweep(160e9)})

    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#|data:,)""", page)
    assert not re.findall(r"(?:https?:)?//[a-z0-9]+\.[a-z]", page)
    assert "@import" not in page


def test_names_in_the_page_are_unique_and_every_reference_has_its_target(build):
    page = build({"a.jsonl": latency_sweep(160e9), "tables.json": json.dumps(table_cells())})

    names = re.findall(r'\bid="([^"]+)"', page)
    references = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', page)
    assert len(names) == len(set(names))
    assert {a or b for a, b in references} <= set(names)


def test_a_latency_sweep_fills_bars_and_cuts_with_the_published_figures(build):
    page = build({"a.jsonl": latency_sweep(160e9)})

    titles = " | ".join(headings(page))
    assert "Latency over the link&#39;s rate: vit-base-16" in titles
    assert "Cut of the latency" in titles
    assert "published cut at 200 Mbps, L = 10" in page  # in the figure's legend
    assert "Accuracy" not in titles and "Timelines" not in titles


def test_without_two_rates_or_ratios_the_page_says_why_it_has_no_figure(build):
    page = build({"a.jsonl": [record(links=[(1e8, [0.1], [0.1])])]})

    assert "<figure" not in page
    assert "fill no figure" in page


def test_scores_fill_the_accuracy_figure_with_their_interval(build):
    records = [scored("single", 1, 1.0, 0.9), scored("prism", 2, 10.0, 0.8, segments=10),
               scored("prism", 2, 5.0, 0.85, segments=20)]  # fmt: skip

    page = build({"a.jsonl": records})

    assert any(title.startswith("Accuracy over the compression ratio") for title in headings(page))
    assert "<td>0.78</td><td>0.82</td>" in page


def test_failed_points_are_listed_with_their_reason_escaped(build):
    page = build({"a.jsonl": [*latency_sweep(160e9), failed()]})

    assert "Failed and skipped points" in page
    assert "rank 1 &lt;ended&gt;" in page
    assert "rank 1 <ended>" not in page


def test_gathered_copies_of_records_count_once(build, capsys):
    sweep = latency_sweep(160e9)

    page = build({"a.jsonl": sweep[:2], "b.jsonl": sweep[2:], "all.jsonl": sweep})

    assert "<p>5 records, 50 " in page
    assert "note: all.jsonl left out: other files hold all of its records" in capsys.readouterr().out


def test_another_schema_is_left_out_with_a_note(build, capsys):
    page = build(
        {"a.jsonl": latency_sweep(160e9), "link.jsonl": '{"schema": "thinwire.link-check/1"}\n'}
    )

    note = "link.jsonl left out: schema &#39;thinwire.link-check/1&#39;"
    assert note in page
    assert "thinwire.link-check/1" in capsys.readouterr().out


def test_an_interrupted_last_line_is_left_out(build):
    sweep = latency_sweep(160e9)

    page = build({"a.jsonl": lines(sweep) + lines(sweep)[:50]})

    assert "<p>5 records, 50 " in page


def test_folders_have_sections_of_their_own(build):
    page = build({"x/a.jsonl": latency_sweep(160e9), "y/a.jsonl": latency_sweep(250e9)})

    assert re.findall(r'<h2 id="([xy])">', page) == ["x", "y"]
    assert page.count("Latency over the link&#39;s rate") >= 2


def test_published_cells_that_differ_are_marked(build, tmp_path):
    tables = [
        {"key": key, "title": f"table {key}", "place": "1", "columns": [], "rows": []}
        for key in ("vit", "bert", "gpt2")
    ]
    published = tmp_path / "published"
    published.mkdir()
    document = {"schema": "thinwire.published/1", "source": "a paper", "notes": ["read this"], "tables": tables}
    (published / "paper.json").write_text(json.dumps(document), encoding="utf-8")

    page = build(
        {"a.jsonl": latency_sweep(160e9), "tables.json": json.dumps(table_cells(2))},
        "--published", published,
    )  # fmt: skip

    assert page.count('<tr class="marked">') == 2
    assert "a paper, 1: 17 of 19 compared cells equal" in page
    assert "read this" in page


def test_every_figure_is_written_as_svg_and_png(build, tmp_path):
    page = build({"a.jsonl": latency_sweep(160e9)}, "--figures", tmp_path / "figures")

    names = set(re.findall(r'<figure id="([^"]+)"', page))
    assert names
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        f"{name}.{suffix}" for name in names for suffix in ("svg", "png")
    }


def test_options_that_differ_name_the_curves(build):
    page = build({"a.jsonl": duplication_sweep()})

    assert "prism, L = 10, scaling duplicate" in page


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "no records of schema thinwire.result/1"),
        ({"a.jsonl": ""}, "a.jsonl left out: it is empty"),
        ({"a.jsonl": "not JSON\n"}, "a.jsonl, line 1: no JSON object"),
        ({"a.jsonl": '{"schema": "thinwire.result/1"}\n'}, "a.jsonl, line 1"),
    ],
)
def test_bad_input_is_one_line_and_status_2(build, files, said, capsys):
    assert build(files) == 2

    error = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(error) == 1 and said in error[0]


def test_a_missing_folder_is_named(tmp_path, schema, capsys):
    status = main([str(tmp_path / "none"), "-o", str(tmp_path / "r.html"), "--schema", str(schema)])

    assert status == 2
    assert "none: no such file or folder" in capsys.readouterr().err


def test_the_command_runs_from_the_repositorys_root_without_a_python_path():
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    ran = subprocess.run(
        [sys.executable, "-m", "analysis.report", "--help"], cwd=REPOSITORY, env=environment,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stderr
    assert "python -m analysis.report results/ -o report.html" in ran.stdout


def evaluated(strategy, devices, ratio, value, **more):
    """A record of `thinwire eval`: scored, without times."""
    made = scored(strategy, devices, ratio, value, **more)
    made["time"]["links"][0]["latency_s"] |= {"p50": None, "samples": []}
    made["spec"] |= {"data": "test.safetensors", "samples": [100, 199]}
    made["accuracy"]["bits_per_inference"] = 0 if devices == 1 else 1e6 / ratio
    return made


def test_scores_without_times_fill_figures_over_ratio_and_bits(build):
    records = [evaluated("single", 1, 1.0, 0.9), evaluated("prism", 2, 10.0, 0.8, segments=10),
               evaluated("prism", 2, 5.0, 0.85, segments=20)]  # fmt: skip

    page = build({"a.jsonl": records})

    titles = [title for title in headings(page) if title.startswith("Accuracy over")]
    assert titles == [
        f"Accuracy over {what}: vit-base-16 · test.safetensors · 100 samples from 100 · accuracy"
        for what in ("the compression ratio", "bits")
    ]
    assert "accuracy 0.85" in page


def test_a_record_without_any_time_is_in_the_table(build):
    made = evaluated("voltage", 2, 1.0, 0.9)
    made["time"] = None

    assert "accuracy 0.9<" in build({"a.jsonl": [made]})


def test_records_of_other_samples_have_a_figure_of_their_own(build):
    records = [evaluated("prism", 2, ratio, 0.8, segments=segments)
               for ratio, segments in ((10.0, 10), (5.0, 20))]  # fmt: skip
    other = [evaluated("prism", 3, ratio, 0.8, segments=segments)
             for ratio, segments in ((10.0, 10), (5.0, 20))]  # fmt: skip
    for made in other:
        made["spec"]["samples"] = [0, 99]

    page = build({"a.jsonl": records + other})

    assert sum(title.startswith("Accuracy over bits") for title in headings(page)) == 2
