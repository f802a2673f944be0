"""Records as a pandas table: one row a record and link setting."""

import numpy as np
import pandas as pd

from thinwire_analysis.records import spec_of

BITS_PER_MBIT = 1e6
TIME_PARTS = ("compute", "wait", "hidden", "skew")


def links_frame(records):
    """One row a record and link setting; times in seconds, rates in Mbit/s (NaN: unlimited).

    Columns: source, clock, model, tokens, strategy, devices, segments, codewords (of the active
    level; both 0: none), buffers, repeat, scaling, label, topology, link_latency_s, rate_mbps,
    p50_s, p10_s, p90_s of the latency, compute_p50_s, wait_p50_s, hidden_p50_s, skew_p50_s,
    formula_s (nominal communication), samples, total_flops, block_flops, max_device_flops,
    exchanges, bits_per_exchange, bits_per_inference (both nominal, one device), compression_rate,
    and of a scored record accuracy with accuracy_low, accuracy_high (95 %), its metric and
    sent_bits (of all devices, mean over samples). Records without times have no row.
    """
    rows = [
        link_row(record, index) for record in records for index in range(len(links_of(record)))
    ]
    return pd.DataFrame(rows)


def links_of(record):
    """The link settings of a record's times; none where nothing was timed (`thinwire eval`)."""
    links = (record["time"] or {}).get("links") or []
    return [] if any(link["latency_s"]["p50"] is None for link in links) else links


def strategy_label(spec):
    """The name of a curve: the strategy with what sets it apart (`prism, L = 10, int8`)."""
    payload = f", {spec['payload']}" if spec.get("payload") else ""
    if spec["strategy"] == "prism":
        if not spec.get("segments") and spec.get("compression_rate"):
            return f"prism, CR = {spec['compression_rate']:g}{payload}"
        return f"prism, L = {int(spec.get('segments') or 0)}{payload}"
    if spec["strategy"] == "astra":
        groups = f", G = {spec['groups']}" if (spec.get("groups") or 1) > 1 else ""
        return "astra" + groups + (", packed" if spec.get("index_bits") == "packed" else "")
    if spec["strategy"] == "trace-b":
        return f"trace-b, K = {spec['active_codewords']}"
    return spec["strategy"] + payload


def link_row(record, index):
    """A dict with a record's row for its link setting number `index`."""
    link = record["time"]["links"][index]
    formula = record["time"].get("nominal_communication_s") or [None] * (index + 1)
    rate = _first_rate(link["link"]["rate_bit_per_s"])
    return {
        **point_row(record),
        "topology": link["link"]["topology"],
        "link_latency_s": link["link"].get("latency_s", 0.0),
        "rate_mbps": np.nan if rate is None else rate / BITS_PER_MBIT,
        **_spread("", link["latency_s"]),
        **{f"{part}_p50_s": _median(link, f"{part}_s") for part in TIME_PARTS},
        "formula_s": formula[index],
        "samples": len(link["latency_s"]["samples"]),
    }


def point_row(record):
    """A dict with what of a record's row no link has a part in; records without times have it."""
    spec, traffic, operations = spec_of(record), record["traffic"], record["operations"]
    segments = int(spec.get("segments") or 0) if spec["strategy"] == "prism" else 0
    return {
        "source": record["source"],
        "clock": spec.get("clock"),
        "model": spec["model"],
        "tokens": spec.get("tokens"),
        "strategy": spec["strategy"],
        "devices": int(spec["devices"]),
        "segments": segments,
        "codewords": int(spec.get("active_codewords") or 0),
        "buffers": spec.get("buffers"),
        "repeat": int(spec.get("repeat") or 0),
        "scaling": spec.get("scaling", "on"),
        "label": strategy_label(spec),
        "total_flops": operations["total_flops"],
        "block_flops": operations.get("block_flops"),
        "max_device_flops": max(operations["device_flops"]),
        "exchanges": traffic["exchanges"],
        "bits_per_exchange": traffic["nominal_bits_per_exchange"] or 0.0,
        "bits_per_inference": traffic.get("nominal_bits_per_inference"),
        "compression_rate": traffic.get("compression_rate"),
        **_accuracy(record.get("accuracy")),
    }


def _accuracy(score):
    if score is None:
        missing = ("accuracy", "accuracy_low", "accuracy_high", "sent_bits")
        return {"metric": None, **dict.fromkeys(missing, np.nan)}
    low, high = score["interval_95"]
    return {
        "metric": score["metric"],
        "accuracy": score["value"],
        "accuracy_low": low,
        "accuracy_high": high,
        "sent_bits": score.get("bits_per_inference", np.nan),
    }


def _median(link, figure):
    return link[figure]["p50"] if figure in link else np.nan


def _first_rate(rate):
    """A link with a rate a device counts as the slowest of them."""
    if isinstance(rate, list):
        known = [value for value in rate if value is not None]
        return min(known) if known else None
    return rate


def _spread(prefix, statistics):
    samples = statistics["samples"]
    low, high = np.percentile(samples, [10, 90]) if samples else [statistics["p50"]] * 2
    return {
        f"{prefix}p50_s": statistics["p50"],
        f"{prefix}p10_s": float(low),
        f"{prefix}p90_s": float(high),
    }
