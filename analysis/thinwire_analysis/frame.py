"""Records as a pandas table: one row a record and link setting."""

import numpy as np
import pandas as pd

from thinwire_analysis.records import spec_of

BITS_PER_MBIT = 1e6


def links_frame(records):
    """One row a record and link setting; times in seconds, rates in Mbit/s (NaN: unlimited).

    Columns: source, model, strategy, devices, segments (0: none), scaling, label, rate_mbps,
    p50_s, p10_s, p90_s of the latency, compute_p50_s, samples, total_flops, max_device_flops,
    exchanges, bits_per_exchange.
    """
    rows = [_row(record, link) for record in records for link in record["time"]["links"]]
    return pd.DataFrame(rows)


def strategy_label(strategy, segments):
    """The name of a curve: `prism, L = 10` where segments are used, else the strategy."""
    return f"{strategy}, L = {segments}" if segments else strategy


def _row(record, link):
    spec, traffic, operations = spec_of(record), record["traffic"], record["operations"]
    segments = int(spec.get("segments") or 0) if spec["strategy"] == "prism" else 0
    rate = _first_rate(link["link"]["rate_bit_per_s"])
    return {
        "source": record["source"],
        "model": spec["model"],
        "strategy": spec["strategy"],
        "devices": int(spec["devices"]),
        "segments": segments,
        "scaling": spec.get("scaling", "on"),
        "label": strategy_label(spec["strategy"], segments),
        "rate_mbps": np.nan if rate is None else rate / BITS_PER_MBIT,
        **_spread("", link["latency_s"]),
        "compute_p50_s": link["compute_s"]["p50"],
        "samples": len(link["latency_s"]["samples"]),
        "total_flops": operations["total_flops"],
        "max_device_flops": max(operations["device_flops"]),
        "exchanges": traffic["exchanges"],
        "bits_per_exchange": traffic["nominal_bits_per_exchange"] or 0.0,
    }


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
