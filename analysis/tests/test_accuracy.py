import csv
import json

import numpy as np
import pandas as pd
import pytest

from accuracy_synthetic import (
    METRICS,
    scored,
    write_latency,
    write_lines,
    write_task,
)
from thinwire_analysis import accuracy, accuracy_tables
from thinwire_analysis.accuracy_comparisons import FAILS, HOLDS, UNDECIDED, verdict
from thinwire_analysis.accuracy_figures import pareto
from thinwire_analysis.accuracy_frame import codebook_variant, point_label, scored_frame
from thinwire_analysis.accuracy_report import findings_text
from thinwire_analysis.cli import DEFAULT_PUBLISHED, DEFAULT_REFERENCES, main
from thinwire_analysis.errors import InputError
from thinwire_analysis.published import load_documents

ANY_RECORD = {"type": "object", "required": ["schema", "spec"]}


@pytest.fixture
def folder(tmp_path):
    """A study of two tasks; the single device's reference is set to what it scores."""
    return write_study(tmp_path, ("cifar10", "sts"))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """What the command leaves of a study of all tasks: (exit status, its folder)."""
    place = tmp_path_factory.mktemp("study")
    results = write_study(place, METRICS)
    return run(results, place / "out"), place / "out"


def write_study(place, tasks):
    results = place / "results"
    for name in tasks:
        parts = write_task(results, name)
        write_latency(results / name, parts["exact"] + parts["prism"] + parts["trace"])
    (place / "schema.json").write_text(json.dumps(ANY_RECORD), encoding="utf-8")
    set_reference(place, "cifar10", "accuracy", value_of(results, "cifar10"))
    return results


def value_of(results, task):
    line = (results / task / "reference.jsonl").read_text().splitlines()[0]
    return json.loads(line)["accuracy"]["value"]


def set_reference(place, task, metric, value):
    entry = {"task": task, "metric": metric, "samples": 200, "value": value, "within": 0.002}
    (place / "references.json").write_text(json.dumps({"references": [entry]}))


def run(results, out):
    place = results.parent
    return main(["accuracy", "--results", str(results), "--out", str(out), "--schema",
                 str(place / "schema.json"), "--references", str(place / "references.json")])  # fmt: skip


def judged(results):
    """The study without its figures."""
    references = results.parent / "references.json"
    return accuracy.judge(results, references, DEFAULT_PUBLISHED.parent, ANY_RECORD)


def failures(results):
    return [str(check) for check in judged(results).checks if not check.passed]


def rewrite(path, change):
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        change(record)
    write_lines(path, records)


def test_a_study_passes_and_leaves_report_figures_and_tables(written):
    status, out = written

    assert status == 0
    names = {path.name for path in out.iterdir()}
    assert names >= {
        "report.md", "pareto-bits.png", "pareto-latency.png", "prism.png", "levels.png",
        "devices.png", "points.csv", "comparisons.csv", "cifar10-prism.csv", "sts-levels.csv",
        "shakespeare-hierarchy.csv", "cifar10-update.csv", "cifar10-placement.csv",
    }  # fmt: skip
    text = (out / "report.md").read_text(encoding="utf-8")
    for name in names:
        if name.endswith(".png"):
            assert f"]({name})" in text
            assert (out / name).stat().st_size > 10000


def test_the_report_says_where_an_ordering_holds_and_where_not(written):
    text = (written[1] / "report.md").read_text(encoding="utf-8")

    holds = "**PRISM with scaling is at least as good as without** (PRISM, Table of duplicates): "
    assert holds + "holds on cifar10, shakespeare and sts." in text
    against = "**trace-nb is at least as good as trace-1b** (TRACE, Table VI): "
    assert against + "does not hold on cifar10, shakespeare and sts." in text
    assert "Against it: P = 2, K = 1024; " in text
    assert "KL divergence" in text


def test_bf16_stands_beside_the_same_points_in_fp32(written):
    table = pd.read_csv(written[1] / "cifar10-bf16.csv", dtype=str)
    exact = pd.read_csv(written[1] / "cifar10-exact.csv", dtype=str)

    assert list(table.strategy)[:2] == ["single", "voltage"]
    assert len(table) == 4
    assert table.fp32[0] in set(exact.iloc[0])  # not a strategy's own, nor the one in bf16
    for cell in table.difference:
        change, low, high = (float(word.strip("[],")) for word in cell.split())
        assert low <= change <= high
        assert change < 0
    text = (written[1] / "report.md").read_text(encoding="utf-8")
    assert "### Products in bf16 beside fp32" in text


def test_every_pair_is_in_the_table_of_comparisons(written):
    with open(written[1] / "comparisons.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    cifar = [row for row in rows if row["task"] == "cifar10"]
    scaling = [row for row in cifar if "scaling" in row["ordering"]]
    equal_rate = [row for row in cifar if "equal CR" in row["ordering"]]
    assert len(scaling) == 6 and {row["verdict"] for row in scaling} == {HOLDS}
    assert [row["pair"] for row in equal_rate] == [
        "CR 2.03 and 1.97", "CR 3.61 and 3.61", "CR 10.8 and 10.8",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        ((1, 0.5, 2), HOLDS),
        ((-1, -2, -0.5), FAILS),
        ((0.1, -1, 1), UNDECIDED),
        ((0, 0, 0), "equal"),
    ],
)
def test_a_verdict_needs_an_interval_beside_zero(interval, expected):
    assert verdict(*interval) == expected


def test_a_reference_that_is_missed_fails(folder, tmp_path):
    set_reference(tmp_path, "cifar10", "accuracy", value_of(folder, "cifar10") - 0.01)

    assert "FAIL  cifar10: accuracy of the single device" in failures(folder)[0]


def test_a_strategy_that_changes_answers_fails(folder):
    def change(record):
        if record["spec"]["strategy"] == "tensor":
            record["accuracy"]["agreement"]["largest_relative_difference"] = 1e-3

    rewrite(folder / "sts" / "exact.jsonl", change)

    (found,) = failures(folder)
    assert found.startswith(
        "FAIL  sts: voltage, tensor and pipeline equal the single device: tensor P = 2: outputs 1.0e-03"
    )


def test_a_codebook_of_scored_samples_fails(folder):
    path = folder / "sts" / "codebooks" / "astra-p2-k1024.safetensors.args"
    path.write_text("--input test.safetensors --samples 0..1000")

    (found,) = failures(folder)
    assert found.startswith("FAIL  calibration apart from the scored samples: sts astra-p2")


def test_a_point_without_its_counterpart_fails(folder):
    path = folder / "cifar10" / "prism.jsonl"
    path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")

    (found,) = failures(folder)
    assert found.startswith(
        "FAIL  PRISM with and without scaling at every point: cifar10 P = 3, prism, L = 2"
    )


def test_a_failed_point_and_a_wrong_count_fail(folder):
    def change(record):
        if record["spec"]["devices"] == 3 and record["spec"]["strategy"] == "astra":
            record.update(status="failed", reason="rank 1 ended", accuracy=None)
        if record["spec"]["strategy"] == "trace-1b":
            record["checks"]["counted_equals_predicted"] = False

    rewrite(folder / "sts" / "trace.jsonl", change)

    points, counted = failures(folder)
    assert points.startswith("FAIL  points finished") and "rank 1 ended" in points
    assert counted.startswith("FAIL  counted = predicted")


def test_a_study_without_scores_of_samples_lacks_its_comparisons(folder):
    for path in folder.glob("*/*.scores"):
        path.unlink()

    (found,) = failures(folder)
    assert found.startswith("FAIL  the papers' orderings compared in pairs: no pair for")


def test_a_folder_without_a_task_is_bad_input(folder, tmp_path):
    with pytest.raises(InputError, match="no task"):
        judged_folder = folder / "cifar10"
        accuracy.judge(judged_folder, tmp_path / "references.json", DEFAULT_PUBLISHED.parent, None)


def test_the_repositorys_references_can_be_read():
    found = accuracy.load_references(DEFAULT_REFERENCES)

    assert {"cifar10", "sts", "mrpc", "shakespeare"} == {entry["task"] for entry in found}


def test_papers_cells_stand_beside_the_nearest_point(folder, tmp_path):
    tasks = accuracy.load_study(folder, None)
    documents = load_documents(DEFAULT_PUBLISHED.parent)
    cifar = next(task for task in tasks if task.name == "cifar10")

    table = accuracy_tables.prism_table(cifar, None, documents)
    updates = accuracy_tables.update_table(cifar, documents)

    paper = dict(zip(zip(table.P, table.L), table.paper))
    assert paper[2, 3] == "95.64" and paper[2, 16] == "–"  # CR 10.8 beside 9.90; 2.03 beside none
    assert dict(zip(updates["update"], updates["paper, P = 3"]))["gradient"] == "89.34"


def test_labels_and_codebooks_tell_points_apart():
    given = [
        {"strategy": "prism", "segments": 3, "scaling": "off"},
        {"strategy": "prism", "segments": None, "compression_rate": 8.0},
        {"strategy": "trace-nb", "active_codewords": 32},
        {"strategy": "voltage"},
    ]

    assert [point_label(one) for one in given] == [
        "prism, L = 3, scaling off", "prism, CR = 8", "trace-nb, K = 32", "voltage",
    ]  # fmt: skip
    assert codebook_variant("trace-b-p2-k1024.safetensors") == ("ema", "euclidean")
    assert codebook_variant("trace-b-p2-k1024-usage.safetensors") == ("ema", "usage")
    assert codebook_variant("trace-b-p2-k1024-kmeans.safetensors") == ("kmeans", "euclidean")


def test_a_point_that_costs_more_and_scores_less_is_not_best():
    rows = pd.DataFrame({"metric": "accuracy", "cost": [3, 1, 2, 4], "value": [0.5, 0.4, 0.3, 0.9]})
    falling = rows.assign(metric="bits_per_byte")

    assert list(pareto(rows, "cost").cost) == [1, 3, 4]
    assert list(pareto(falling, "cost").cost) == [1, 2]


def test_a_record_without_agreement_has_a_row(tmp_path):
    record, _ = scored("accuracy", 0.5, "0" * 16)
    del record["accuracy"]["agreement"]

    row = scored_frame([record]).iloc[0]

    assert np.isnan(row.kl) and np.isnan(row.change) and row.samples == 200


def test_an_empty_finding_says_nothing():
    assert findings_text([]) == ""


def test_padding_is_told_from_compression(tmp_path, folder):
    place = folder / "sts"
    metric = METRICS["sts"]
    made = [
        scored(metric, quality, f"{index:015x}p", strategy=strategy, devices=devices, data=data,
               **({"segments": 1} if strategy == "prism" else {}))
        for index, (quality, strategy, devices, data) in enumerate(
            ((0.9, "single", 1, "padded"), (0.9, "prism", 2, "padded"), (0.9, "single", 1, "packed"),
             (0.5, "prism", 2, "packed")))
    ]  # fmt: skip
    write_lines(place / "padding.jsonl", [record for record, _ in made])
    write_lines(place / "padding.scores", [line for _, line in made])
    shares = [
        {"data": data, "first": 1000, "last": 1199, "devices": 2, "positions": positions,
         "sequences": 400, "past": past, "samples": 200, "samples_past": past // 2}
        for data, positions, past in (("padded", 64, 4), ("packed", 14, 400))
    ]  # fmt: skip
    (place / "padding.json").write_text(json.dumps(shares))

    study = judged(folder)

    table = study.padding_tables["sts"]
    assert dict(zip(table.data, table["sequences past device 0"])) == {
        "padded": "1.0 %", "packed": "100.0 %",
    }  # fmt: skip
    assert "A flat score at a high rate of compression is thus what padding" in study.padding["sts"]


def test_a_reference_without_a_record_of_its_samples_fails(folder, tmp_path):
    entry = {"task": "sts", "metric": "spearman", "samples": 3000, "value": 0.8, "within": 0.002}
    (tmp_path / "references.json").write_text(json.dumps({"references": [entry]}))

    (found,) = failures(folder)
    assert found == ("FAIL  sts: spearman of the single device: no record of 3000 samples with it")
