"""Records of the scripts beside experiments/beyond/run.sh, as tables: one row a record and link."""

from pathlib import Path

import numpy as np
import pandas as pd

from thinwire_analysis.accuracy_frame import point_label
from thinwire_analysis.accuracy_scores import load_scores
from thinwire_analysis.frame import links_of
from thinwire_analysis.records import load_records, spec_of, without_devices

# Who may choose a level for every frame.
CONTROLLERS = ("adaptive", "probing")


def folder_records(folder, schema):
    """The finished records of a folder's *.jsonl and *.predicted files, deeper ones too; none
    without the folder.
    """
    files = sorted(p for p in Path(folder).rglob("*") if p.suffix in (".jsonl", ".predicted"))
    found = [record for path in files for record in load_records(path, schema, without_devices)]
    return [record for record in found if record["status"] == "ok"]


def folder_scores(folder):
    """{id: PointScores} of a folder's *.scores files, deeper ones too."""
    found = {}
    for path in sorted(Path(folder).rglob("*.scores")):
        found |= load_scores(path)
    return found


def conditions_frame(records):
    """One row a record and link setting; a record without times has one row with NaN for them.

    Columns: id, model, data, first, last (sample numbers), strategy, label, devices, payload,
    level (K_m, or a controller), loss (a probability), policy, link (link_name, coded_name),
    topology, mean_s, p50_s, p90_s (of the iterations), metric, value, low, high, output_cosine,
    top1 (agreement with the single device), lost_rows (a fraction), index_bits (mean of an index
    where a controller chooses). Numbers are NaN where a record has none.
    """
    rows = []
    for record in records:
        for link in links_of(record) or [None]:
            rows.append({**_point(record), **_times(link)})
            rows[-1]["link"] = coded_name(rows[-1]["link"], spec_of(record))
    return pd.DataFrame(rows)


def _point(record):
    spec, traffic = spec_of(record), record.get("traffic") or {}
    score = record.get("accuracy") or {}
    loss = float(spec.get("loss") or 0)
    low, high = score.get("interval_95") or (np.nan, np.nan)
    losses, agreement = traffic.get("losses") or {}, score.get("agreement") or {}
    return {
        "id": record["id"],
        "model": spec["model"],
        "data": spec.get("data"),
        "first": (spec.get("samples") or [None])[0],
        "last": (spec.get("samples") or [None])[-1],
        "strategy": spec["strategy"],
        "label": condition_label(spec),
        "devices": int(spec["devices"]),
        "payload": spec.get("payload") or "fp32",
        "level": level_of(spec),
        "loss": loss,
        "policy": (spec.get("on_loss") or "retransmit") if loss else "",
        "metric": score.get("metric"),
        "value": score.get("value", np.nan),
        "low": low,
        "high": high,
        "top1": _number(agreement.get("top1")),
        "output_cosine": _number(agreement.get("output_cosine")),
        "index_bits": _number((record.get("codebook") or {}).get("mean_index_bits")),
        "lost_rows": _number(losses.get("lost_rows_fraction")),
    }


def condition_label(spec):
    """point_label; a level that a controller chooses is no part of it."""
    level = level_of(spec)
    if level in CONTROLLERS:
        return f"{point_label({**spec, 'active_codewords': None})}, level {level}"
    return point_label(spec)


def level_of(spec):
    """Who chooses the level, or the codewords in use; empty for strategies without levels."""
    if spec.get("level") in CONTROLLERS:
        return spec["level"]
    known = spec.get("active_codewords")
    return "" if known is None else f"{int(known)}"


def _times(link):
    if link is None:
        missing = dict.fromkeys(("mean_s", "p50_s", "p90_s"), np.nan)
        return {"link": "", "topology": "", **missing}
    place, spread = link["link"], link["latency_s"]
    return {
        "link": link_name(place),
        "topology": place["topology"],
        "mean_s": spread["mean"],
        "p50_s": spread["p50"],
        "p90_s": spread["p90"],
    }


def link_name(link):
    """A link's trace without its ending, or its rate, with the latency of a message."""
    trace = link.get("rate_trace")
    rate = link["rate_bit_per_s"]
    rate = min(rate) if isinstance(rate, list) else rate
    name = Path(trace["file"]).stem if trace else (
        "unlimited" if rate is None else f"{rate / 1e6:g} Mbps"
    )  # fmt: skip
    latency_s = link.get("latency_s") or 0
    return f"{name} + {1e3 * latency_s:g} ms" if latency_s else name


def coded_name(link, spec):
    """A link's name, with the coding of what crosses it where indices are not of fixed width."""
    coding = spec.get("index_coding") or "fixed"
    return link if coding == "fixed" else f"{link}, {coding}"


def _number(value):
    return np.nan if value is None else value
