"""Scored records as a pandas table: one row a point of `thinwire eval`."""

import re

import numpy as np
import pandas as pd

from thinwire_analysis.records import spec_of

# Of these metrics a smaller value is the better one.
FALLING = {"bits_per_byte", "bits_per_character", "perplexity"}
UPDATES = ("subspace", "gradient", "kmeans")
HIERARCHIES = ("cosine", "usage")
TRACE = ("trace-b", "trace-2a", "trace-nb", "trace-1b")


def is_rising(metric):
    """Whether a larger value of the metric is the better one."""
    return metric not in FALLING


def scored_frame(records):
    """One row a scored record, in their order.

    Columns: id, model, data, first, last (sample numbers), strategy, devices, dtype,
    segments (0: none), cr (of PRISM: the requested one, else uncompressed over compressed bits of the longest sample),
    scaling, codewords (of the active level; 0: none), payload (fp32 unless said otherwise), coding
    (of indices; fixed unless said otherwise), codebook (file name), update, hierarchy (how
    the codebook was made, by its name), label; metric, samples, value, low, high (95 %), also (a
    dict of other metrics), sent_bits (of all devices, mean over samples), mean_tokens, most_tokens;
    total_flops; and, NaN where agreement was not asked for, top1, lost_margin, kl, output_cosine,
    hidden_cosine (of the layer where it is least), difference (relative, the largest of all
    samples), change (from the single device) with change_low, change_high.
    """
    return pd.DataFrame([_row(r) for r in records if r.get("accuracy")])


def point_label(spec):
    """The name of a configuration without its number of devices: `prism, L = 3, scaling off`."""
    return _base_label(spec) + _wire_label(spec)


def _wire_label(spec):
    """What of a payload's form is not the papers': `, int8`, `, cross-layer`."""
    payload, coding = spec.get("payload") or "fp32", spec.get("index_coding") or "fixed"
    return (f", {payload}" if payload != "fp32" else "") + (
        f", {coding}" if coding != "fixed" else ""
    )


def _base_label(spec):
    strategy = spec["strategy"]
    if strategy == "prism":
        requested = spec.get("compression_rate")
        name = f"prism, CR = {requested:g}" if requested else f"prism, L = {spec.get('segments')}"
        return name + (", scaling off" if spec.get("scaling") == "off" else "")
    if spec.get("active_codewords"):
        return f"{strategy}, K = {int(spec['active_codewords'])}"
    return strategy


def codebook_variant(name):
    """(update, hierarchy) of a codebook by its file's name: `trace-b-p2-k1024-cosine.safetensors`.

    experiments/accuracy.sh names codebooks so; what a name does not say is the default.
    """
    words = re.split(r"[-.]", name or "")
    update = next((word for word in words if word in UPDATES), "ema")
    return update, next((word for word in words if word in HIERARCHIES), "euclidean")


def _row(record):
    spec, score, traffic = spec_of(record), record["accuracy"], record.get("traffic") or {}
    first, last = spec.get("samples") or (0, score["samples"] - 1)
    update, hierarchy = codebook_variant(spec.get("codebook"))
    is_prism = spec["strategy"] == "prism"
    requested = spec.get("compression_rate") if is_prism else None
    tokens = score.get("tokens") or {}
    return {
        "id": record["id"],
        "model": spec["model"],
        "data": spec.get("data"),
        "first": int(first),
        "last": int(last),
        "strategy": spec["strategy"],
        "devices": int(spec["devices"]),
        "dtype": spec.get("dtype") or "fp32",
        "segments": int(spec.get("segments") or 0) if is_prism else 0,
        "cr": float(requested or traffic.get("compression_rate") or np.nan),
        "scaling": spec.get("scaling", "on"),
        "codewords": int(spec.get("active_codewords") or 0),
        "payload": spec.get("payload") or "fp32",
        "coding": spec.get("index_coding") or "fixed",
        "codebook": spec.get("codebook"),
        "update": update,
        "hierarchy": hierarchy,
        "label": point_label(spec),
        "metric": score["metric"],
        "samples": int(score["samples"]),
        "value": score["value"],
        "low": score["interval_95"][0],
        "high": score["interval_95"][1],
        "also": score.get("also") or {},
        "sent_bits": score.get("bits_per_inference", np.nan),
        "mean_tokens": tokens.get("mean", np.nan),
        "most_tokens": tokens.get("max", np.nan),
        "total_flops": (record.get("operations") or {}).get("total_flops", np.nan),
        **_agreement(score.get("agreement")),
    }


def _agreement(found):
    found = found or {}
    low, high = found.get("change_interval_95") or (np.nan, np.nan)
    return {
        "top1": _number(found, "top1"),
        "lost_margin": _number(found, "largest_lost_margin"),
        "kl": _number(found, "kl_divergence"),
        "output_cosine": _number(found, "output_cosine"),
        "hidden_cosine": min(found.get("hidden_cosine") or [np.nan]),
        "difference": _number(found, "largest_relative_difference"),
        "change": _number(found, "change"),
        "change_low": low,
        "change_high": high,
    }


def _number(found, key):
    value = found.get(key)
    return np.nan if value is None else value
