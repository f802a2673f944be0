"""What has to hold in the accuracy study; the papers' orderings are findings and no checks."""

import json
from pathlib import Path

import numpy as np

from thinwire_analysis.accuracy_orderings import ORDERINGS
from thinwire_analysis.checks import Check, check_counts
from thinwire_analysis.errors import InputError

EXACT = ("voltage", "tensor", "pipeline")
# METHODS 8: of the largest logit, and of a row's direction.
RELATIVE_TOLERANCE, COSINE_TOLERANCE = 1e-4, 1e-5


def load_references(path):
    """The published scores of single devices: a list of dicts, see experiments/accuracy."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))["references"]
        keys = {"task", "metric", "samples", "value", "within"}
        if not all(keys <= set(entry) for entry in found):
            raise ValueError(f"a reference without one of {', '.join(sorted(keys))}")
        return found
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: no reference scores ({error!r})") from error


def check_all(tasks, references, findings):
    """Every verdict of the study, in the order of its summary."""
    records = [r for task in tasks for found in task.records.values() for r in found]
    return [
        check_points(tasks),
        check_counts(records),
        *check_references(tasks, references),
        *(check_exact(task) for task in tasks if not task.part("exact").empty),
        check_calibration(tasks),
        check_scaling_pairs(tasks),
        check_orderings(findings),
    ]


def check_points(tasks):
    """No point failed or was skipped."""
    found = [
        (f"{task.name} {part}", record)
        for task in tasks for part, records in task.records.items() for record in records
    ]  # fmt: skip
    bad = [(place, r) for place, r in found if r["status"] != "ok"]
    reasons = "; ".join(f"{place}: {r['status']}: {r.get('reason')}" for place, r in bad[:3])
    detail = f"{len(found) - len(bad)} of {len(found)} points"
    return Check("points finished", not bad, detail + (f" ({reasons})" if reasons else ""))


def check_references(tasks, references):
    """The single device's score of each task equals the published one."""
    found = {task.name: task for task in tasks}
    return [
        _reference(found[entry["task"]], entry) for entry in references if entry["task"] in found
    ]


def _reference(task, entry):
    rows = task.frame[(task.frame.strategy == "single") & (task.frame.samples == entry["samples"])]
    name = f"{task.name}: {entry['metric']} of the single device"
    values = [_metric_of(row, entry["metric"]) for _, row in rows.iterrows()]
    values = [value for value in values if value is not None]
    if not values:
        return Check(name, False, f"no record of {entry['samples']} samples with it")
    away = abs(values[0] - entry["value"])
    return Check(
        name,
        bool(away <= entry["within"]),
        f"{values[0]:.5f} of {entry['samples']} samples (reference {entry['value']}, "
        f"{away:.5f} apart, allowed {entry['within']})",
    )


def _metric_of(row, metric):
    return row.value if row.metric == metric else row.also.get(metric)


def check_exact(task):
    """voltage, tensor and pipeline give the single device's answers on every sample."""
    rows = task.part("exact")
    single = rows[rows.strategy == "single"]
    rows = rows[rows.strategy.isin(EXACT)]
    off = [f"{row.label} P = {row.devices}: {why}" for _, row in rows.iterrows()
           for why in _departures(row, single)]  # fmt: skip
    missing = [name for name in EXACT if name not in set(rows.strategy)]
    off += [f"no record of {name}" for name in missing]
    worst = float(rows.difference.max()) if len(rows) else np.nan
    samples = int(rows.samples.min()) if len(rows) else 0
    return Check(
        f"{task.name}: voltage, tensor and pipeline equal the single device",
        not off,
        "; ".join(off[:4])
        or f"{len(rows)} points on {samples} samples each, outputs within "
        f"{worst:.1e} (allowed {RELATIVE_TOLERANCE:g})",
    )


def _departures(row, single):
    if not row.difference <= RELATIVE_TOLERANCE:
        yield f"outputs {row.difference:.1e} apart"
    if row.top1 < 1 and not row.lost_margin <= RELATIVE_TOLERANCE:
        yield f"another class in {100 * (1 - row.top1):.3g} %"
    if row.hidden_cosine < 1 - COSINE_TOLERANCE:
        yield f"hidden states' cosine {row.hidden_cosine:.6f}"
    same = single[(single["data"] == row["data"]) & (single["first"] == row["first"])
                  & (single["last"] == row["last"])]  # fmt: skip
    if not same.empty and not np.isclose(same.value.iloc[0], row.value, rtol=RELATIVE_TOLERANCE):
        yield f"{row.metric} {row.value:.5f}, alone {same.value.iloc[0]:.5f}"


def check_calibration(tasks):
    """No codebook was trained on a sample that it is scored on."""
    overlapping, codebooks = [], 0
    for task in tasks:
        for _, row in (
            task.frame[task.frame.codebook.notna()].drop_duplicates("codebook").iterrows()
        ):
            training = task.trainings.get(row.codebook)
            codebooks += 1
            if training is None:
                overlapping.append(f"{task.name} {row.codebook}: its training is not known")
            elif not _apart(training, row):
                overlapping.append(f"{task.name} {row.codebook}: {training['samples']}")
    return Check(
        "calibration apart from the scored samples",
        bool(codebooks) and not overlapping,
        "; ".join(overlapping[:3]) or f"{codebooks} codebooks",
    )


def _apart(training, row):
    """Bytes are calibrated on `train` and scored on `valid` of one file, so that it may be one."""
    if Path(training["input"]).name != row["data"] or row.metric.startswith("bits_per"):
        return True
    first, last = map(int, training["samples"].split(".."))
    return last < row["first"] or first > row["last"]


def check_scaling_pairs(tasks):
    """PRISM was scored with and without scaling at every (P, L)."""
    alone, points = [], 0
    for task in tasks:
        prism = task.part("prism")
        prism = prism[prism.devices > 1]
        name = prism.label.str.replace(", scaling off", "", regex=False)
        for (devices, label), rows in prism.groupby([prism.devices, name]):
            points += 1
            if set(rows.scaling) != {"on", "off"}:
                alone.append(f"{task.name} P = {devices}, {label}")
    return Check(
        "PRISM with and without scaling at every point",
        bool(points) and not alone,
        "; ".join(alone[:4]) or f"{points} points",
    )


def check_orderings(findings):
    """Every ordering of the papers was held against at least one pair of points."""
    missing = [o.text for o in ORDERINGS if o.key not in {f.ordering.key for f in findings}]
    pairs = sum(len(finding.comparisons) for finding in findings)
    return Check(
        "the papers' orderings compared in pairs",
        not missing,
        ("no pair for: " + "; ".join(missing)) if missing else f"{len(ORDERINGS)}, {pairs} pairs",
    )
