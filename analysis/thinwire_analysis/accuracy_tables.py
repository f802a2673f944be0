"""Tables of the accuracy study in the form in which PRISM and TRACE print theirs."""

import numpy as np
import pandas as pd

from thinwire_analysis.accuracy_comparisons import paired_change
from thinwire_analysis.accuracy_format import (
    NONE,
    bits_text,
    change_text,
    metric_name,
    row_text,
    value_text,
)
from thinwire_analysis.accuracy_published import PLACEMENTS, prism_cell, trace_cell

# The strategies of Table VI, best first in the paper.
PLACED = ("trace-nb", "trace-b", "trace-2a", "trace-1b")
COMPARED = ("trace-nb", "trace-b", "astra")
# What a point in bf16 shares with its counterpart in fp32.
SHARED = ("strategy", "devices", "label", "codebook", "data", "first", "last", "metric")


def reference_table(tasks, references):
    """The single device of every task on its full set."""
    published = {entry["task"]: entry for entry in references}
    rows = []
    for task in tasks:
        row = task.part("reference").iloc[0]
        entry = published.get(task.name)
        metric = entry["metric"] if entry else row.metric
        value = row.value if metric == row.metric else row.also.get(metric)
        rows.append(
            {
                "task": task.name,
                "model": row.model,
                "data": row["data"],
                "samples": row.samples,
                "metric": metric.replace("_", " "),
                "ours": NONE if value is None else f"{value:.5f}",
                "95 %": f"[{row.low:.4f}, {row.high:.4f}]" if metric == row.metric else NONE,
                "reference": entry["value"] if entry else NONE,
            }
        )
    return pd.DataFrame(rows)


def exact_table(task):
    """Strategies that must not change anything."""
    rows = task.part("exact")
    return pd.DataFrame(
        {
            "strategy": rows.strategy,
            "P": rows.devices,
            "samples": rows.samples,
            metric_name(task.metric): rows.apply(row_text, axis=1),
            "sent": rows.sent_bits.map(bits_text),
            "outputs apart (relative, most)": rows.difference.map(_tiny),
            "1 - least hidden cosine": (1 - rows.hidden_cosine).map(_tiny),
        }
    )


def bf16_table(task):
    """Products in bf16: the score, and the paired difference from the same point in fp32."""
    fp32 = task.points().fillna({"codebook": ""})
    made = []
    for _, row in task.part("bf16").fillna({"codebook": ""}).iterrows():
        same = fp32[np.logical_and.reduce([fp32[key] == row[key] for key in SHARED])]
        beside = same.iloc[0] if len(same) else None
        made.append(
            {
                "strategy": row.label,
                "P": row.devices,
                "samples": row.samples,
                "fp32": row_text(beside) if beside is not None else NONE,
                "bf16": row_text(row),
                "difference": change_text(row.metric, *paired_change(row, beside, task.scores))
                if beside is not None
                else NONE,
            }
        )
    return pd.DataFrame(made)


def prism_table(task, finding, documents):
    """One row a (P, L): with and without scaling, the difference, and the paper's cell.

    finding: of the ordering `scaling`, or None
    """
    rows = task.part("prism")
    alone = single_value(task)
    pairs = {c.better.id: c for c in finding.comparisons} if finding else {}
    without = {c.better.id: c.worse for c in pairs.values()}
    made = []
    for _, row in rows[(rows.scaling == "on")].sort_values(["devices", "cr"]).iterrows():
        off, pair = without.get(row.id), pairs.get(row.id)
        cell = prism_cell(documents, row.metric, row.devices, row.cr)
        made.append(
            {
                "P": row.devices,
                "L": row.segments or NONE,
                "CR": f"{row.cr:.3g}",
                "sent": bits_text(row.sent_bits),
                f"{metric_name(row.metric)}, scaling on": row_text(row),
                "scaling off": row_text(off) if off is not None else NONE,
                "gain by scaling": _gain(pair),
                "gain": pair.verdict if pair else NONE,
                "from single": _from_single(row, alone),
                "paper": cell.value if cell else NONE,
                "paper, from single": f"{cell.change:+.2f}" if cell else NONE,
            }
        )  # fmt: skip
    return pd.DataFrame(made)


def levels_table(task):
    """Table III: a row a strategy and P, a column a level."""
    rows = default_codebooks(task.part("trace"))
    rows = rows[rows.strategy.isin(COMPARED)]
    devices = set(rows[rows.strategy == "trace-nb"].devices)
    return _by_level(rows[rows.devices.isin(devices)], ["devices", "strategy"])


def devices_table(task):
    """Fig. 9 in numbers: trace-b, a row a P, a column a level."""
    rows = default_codebooks(task.part("trace"))
    return _by_level(rows[rows.strategy == "trace-b"], ["devices"])


def placement_table(task, documents):
    """Table VI: at the finest level, a row a placement."""
    rows = default_codebooks(task.part("trace"))
    rows = rows[rows.strategy.isin(PLACED)]
    finest = rows[rows.codewords == rows.codewords.max()]
    devices = sorted(set(finest[finest.strategy == "trace-1b"].devices))
    made = []
    for strategy in PLACED:
        entry = {"placement": f"{strategy} ({PLACEMENTS[strategy]})"}
        for p in devices:
            row = finest[(finest.strategy == strategy) & (finest.devices == p)]
            cell = trace_cell(documents, strategy, p, 1024) if task.metric == "accuracy" else None
            entry[f"P = {p}"] = row_text(row.iloc[0]) if len(row) else NONE
            entry[f"paper, P = {p}"] = cell.value if cell else NONE
        made.append(entry)
    return pd.DataFrame(made)


def hierarchy_table(task):
    """Table VII: a row a P and metric of the hierarchy, a column a level."""
    rows = task.part("trace", "variants")
    rows = rows[(rows.strategy == "trace-b") & (rows["update"] == "ema")]
    devices = set(rows[rows.hierarchy != "euclidean"].devices)
    return _by_level(rows[rows.devices.isin(devices)], ["devices", "hierarchy"])


def update_table(task, documents):
    """Table VIII: at the finest level, a row an update strategy."""
    rows = task.part("trace", "variants")
    rows = rows[(rows.strategy == "trace-b") & (rows.hierarchy == "euclidean")]
    rows = rows[rows.codewords == rows.codewords.max()]
    devices = sorted(set(rows[rows["update"] != "ema"].devices))
    made = []
    for update in ("gradient", "ema", "subspace", "kmeans"):
        entry = {"update": update}
        for p in devices:
            row = rows[(rows["update"] == update) & (rows.devices == p)]
            cell = (
                trace_cell(documents, "trace-b", p, 1024, update)
                if task.metric == "accuracy"
                else None
            )
            entry[f"P = {p}"] = row_text(row.iloc[0]) if len(row) else NONE
            entry[f"paper, P = {p}"] = cell.value if cell else NONE
        made.append(entry)
    return pd.DataFrame(made)


def comparisons_table(findings):
    """Every pair behind the findings."""
    rows = [
        {
            "task": finding.task,
            "ordering": finding.ordering.text,
            "pair": c.place,
            "samples": c.better.samples,
            "better": value_text(finding.metric, c.better.value),
            "worse": value_text(finding.metric, c.worse.value),
            "gain": change_text(finding.metric, c.difference, c.low, c.high),
            "verdict": c.verdict,
        }
        for finding in findings
        for c in finding.comparisons
    ]
    return pd.DataFrame(rows)


def points_table(tasks):
    """Every point, for a CSV file."""
    return pd.concat([task.frame.assign(task=task.name).drop(columns="also") for task in tasks])


def default_codebooks(rows):
    """Points whose codebooks were made the default way."""
    return rows[(rows["update"] == "ema") & (rows.hierarchy == "euclidean")]


def single_value(task):
    """The single device on the samples of the grids; NaN where it was not scored."""
    rows = task.part("exact")
    rows = rows[rows.strategy == "single"]
    return float(rows.value.iloc[0]) if len(rows) else np.nan


def _gain(pair):
    if pair is None:
        return NONE
    return change_text(pair.better.metric, pair.difference, pair.low, pair.high)


def _from_single(row, alone):
    if np.isfinite(row.change):
        return change_text(row.metric, row.change, row.change_low, row.change_high)
    return change_text(row.metric, row.value - alone, np.nan, np.nan).split(" [")[0]


def _by_level(rows, keys):
    levels = sorted(rows.codewords.unique(), reverse=True)
    names = {"devices": "P"}
    made = []
    for found, part in rows.groupby(keys, sort=True):
        found = found if isinstance(found, tuple) else (found,)
        entry = {names.get(key, key): value for key, value in zip(keys, found)}
        for level in levels:
            row = part[part.codewords == level]
            entry[f"K = {level}"] = row_text(row.iloc[0]) if len(row) else NONE
        made.append(entry)
    return pd.DataFrame(made)


def _tiny(value):
    return f"{max(value, 0):.1e}" if np.isfinite(value) else NONE
