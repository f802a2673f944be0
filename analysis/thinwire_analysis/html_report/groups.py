"""Records that may stand in one figure: same workload, same clock, same kind of link."""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd

from thinwire_analysis.frame import link_row, links_of, point_row, strategy_label
from thinwire_analysis.records import spec_of

# What a figure's title says, what its axes and curves say anyway, and what only tells how long or
# how often was measured. Every other option that differs within a group names the curve.
SAID_ELSEWHERE = {
    "model", "tokens", "strategy", "devices", "rate", "latency", "topology", "clock", "io",
    "iterations", "warmup", "timeout", "repeat", "seed", "sample", "input", "convention",
    "model_fingerprint", "device_gflops", "compression_rate", "segments", "groups", "index_bits",
    "payload",
}  # fmt: skip
SAID_BY_LABEL = {"trace-b": {"active_codewords", "codewords", "level"}}
SAME_SAMPLES = {"data", "data_fingerprint", "samples", "metric", "agreement", "level", "codewords"}
POINT = ["label", "devices", "rate_mbps"]
TIMES = ["p50_s", "compute_p50_s", "wait_p50_s", "hidden_p50_s", "skew_p50_s"]


@dataclass(frozen=True)
class Group:
    """frame: one row a point (frame.py, and its spec), repeats as one   title: what all share"""

    title: str
    frame: pd.DataFrame


def timed_groups(records):
    """Groups whose times can be compared: one clock, one link topology, one machine."""
    return _groups(records, _timed_key, _timed_title)


def formula_groups(records):
    """Groups whose traffic can be compared; clock and machine do not matter to a formula."""
    return _groups(records, _formula_key, _formula_title)


def scored_groups(records):
    """Groups whose scores can be compared: one model, the same samples, one metric."""
    shared = {}
    for record in records:
        if record.get("accuracy"):
            shared.setdefault(_scored_key(record), []).append(record)
    return [Group(_scored_title(*key), _scored_frame(found)) for key, found in shared.items()]


def _scored_key(record):
    spec, score = spec_of(record), record["accuracy"]
    samples = spec.get("samples")
    return (
        spec["model"], spec.get("data"), tuple(samples) if samples else None, score["samples"],
        score["metric"],
    )  # fmt: skip


def _scored_title(model, data, samples, count, metric):
    parts = [model, data, f"{count} samples" + (f" from {samples[0]}" if samples else "")]
    return " · ".join([*filter(None, parts), metric.replace("_", " ")])


def _scored_frame(records):
    rows = [{**point_row(record), "spec": _scored_spec(record)} for record in records]
    return name_curves(pd.DataFrame(rows))


def _scored_spec(record):
    """What a point of an evaluation may differ in; all of a group have one set of samples."""
    return {k: v for k, v in spec_of(record).items() if k not in SAME_SAMPLES}


def _groups(records, key_of, title_of):
    shared = {}
    for record in records:
        for index, link in enumerate(entry["link"] for entry in links_of(record)):
            key = key_of(record, link)
            shared.setdefault(key, []).append((record, index))
    return [Group(title_of(*key), _frame(points)) for key, points in shared.items()]


def _timed_key(record, link):
    spec, environment = spec_of(record), record.get("environment") or {}
    measured = record["source"] == "measured"
    return (
        *_formula_key(record, link), record["source"], spec.get("clock"),
        _text(spec["device_gflops"]) if spec.get("device_gflops") else None,
        spec.get("iterations") if measured else None,
        f"{environment.get('cpu')}, {environment.get('granted_cores')} cores" if measured else None,
    )  # fmt: skip


def _formula_key(record, link):
    spec = spec_of(record)
    return (
        spec["model"], spec.get("tokens"), link["topology"], link.get("latency_s", 0.0),
        spec.get("io", "replicated"),
    )  # fmt: skip


def _formula_title(model, tokens, topology, latency_s, io):
    parts = [model + (f", {tokens} tokens" if tokens else ""), topology]
    if latency_s:
        parts.append(f"{1e3 * latency_s:g} ms a message")
    if io != "replicated":
        parts.append(f"io {io}")
    return " · ".join(parts)


def _timed_title(*key):
    source, clock, gflops, iterations, _machine = key[-5:]
    how = "predicted" if source == "predicted" else f"{clock or 'unknown'} clock"
    title = f"{_formula_title(*key[:-5])} · {how}"
    if gflops:
        title += f", {gflops} GFLOP/s"
    if iterations:
        title += f" · {iterations} iteration" + ("s" if iterations > 1 else "")
    return title


def _frame(points):
    rows = [{**link_row(record, index), "spec": spec_of(record)} for record, index in points]
    return pool_repeats(name_curves(pd.DataFrame(rows)))


def name_curves(frame):
    """The frame with labels that tell its curves apart, and say no more than that takes."""
    return frame.assign(label=curve_labels(list(frame.spec)))


def name_by_formula(frame):
    """The same for traffic: options that no nominal figure depends on name no curve."""
    plain = frame.spec.map(strategy_label)
    merged = frame.assign(label=plain)
    differing = merged.groupby(POINT).formula_s.transform("nunique") > 1
    chosen = plain.where(~plain.isin(plain[differing]), name_curves(frame).label)
    return frame.assign(label=chosen).drop_duplicates(POINT)


def curve_labels(specs):
    """A name a spec: the strategy's label, and every option that sets its curve apart."""
    plain = [strategy_label(spec) for spec in specs]
    values = {}
    for spec, label in zip(specs, plain):
        for option in spec:
            if _names_a_curve(option, spec["strategy"]):
                values.setdefault((label, option), set()).add(_text(spec[option]))
    names = []
    for spec, label in zip(specs, plain):
        own = [
            f"{option.replace('_', ' ')} {_text(spec[option])}"
            for option in spec
            if len(values.get((label, option), ())) > 1
        ]
        names.append(", ".join([label, *own]))
    return names


def _names_a_curve(option, strategy):
    return option not in SAID_ELSEWHERE and option not in SAID_BY_LABEL.get(strategy, ())


def _text(value):
    """An option's value; a list of equal values a device, such as slowness, is that value."""
    if isinstance(value, list) and value and all(v == value[0] for v in value):
        value = value[0]
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else json.dumps(value)


def pool_repeats(frame):
    """One row a point: of repeats the median, and the 10th to 90th percentile of their medians."""
    if not frame.duplicated(POINT).any():
        return frame.assign(repeats=1)
    rows = []
    for _, part in frame.groupby(POINT, sort=False, dropna=False):
        row = part.iloc[0].copy()
        if len(part) > 1:
            row[TIMES] = part[TIMES].median()
            row["p10_s"], row["p90_s"] = np.percentile(part.p50_s, [10, 90])
            row["samples"] = part.samples.sum()
        row["repeats"] = len(part)
        rows.append(row)
    return pd.DataFrame(rows).infer_objects().reset_index(drop=True)
