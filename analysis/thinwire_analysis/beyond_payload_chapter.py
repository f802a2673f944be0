"""The chapter about half-precision and 8-bit payloads of voltage and prism."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from thinwire_analysis.accuracy_comparisons import paired_change
from thinwire_analysis.accuracy_format import change_text, factor, metric_name, row_text, value_text
from thinwire_analysis.accuracy_frame import is_rising, scored_frame
from thinwire_analysis.chapter import Chapter, spoken
from thinwire_analysis.checks import Check
from thinwire_analysis.records import load_records

# Of accuracy and rank correlation in hundredths; of losses relative to the fp32 payload's.
ALLOWED_POINTS = 0.3
QUARTER = 0.2813  # of the bits: 8 of 32, and a scale a row, of 32 values in the narrowest model
PAYLOADS = ("fp16", "bf16", "int8")
# What a reduced payload shares with its fp32 counterpart.
SHARED = ("full_label", "devices", "data", "first", "last", "metric")


@dataclass(frozen=True)
class Source:
    """Scored points of one task. records: with traffic   scores: {id: PointScores}, or empty"""

    task: str
    records: list
    scores: dict


def sources(tasks, folder, schema):
    """The tasks' own points, whose scores of single samples are known, and what payload.sh left in
    the folder, a file a task.
    """
    own = [
        Source(task.name, [r for part in ("exact", "prism") for r in task.records.get(part, [])],
               task.scores)
        for task in tasks
    ]  # fmt: skip
    files = sorted(Path(folder).glob("*.jsonl"))
    return own + [Source(path.stem, load_records(path, schema=schema), {}) for path in files]


def payload_pairs(found):
    """One row a point with a reduced payload and its fp32 counterpart of the same Source; of equal
    points of a task the first.

    Columns: task, strategy, label, devices, payload, metric, fp32, reduced (texts), points (lost,
    in the units of ALLOWED_POINTS), one_sample (the points that a single sample decides about),
    difference (a text), ratio (of the bits of the exchanges before blocks: what is sent beside
    them, such as a sum for a mean over tokens, has no format).
    """
    rows = []
    for source in found:
        done = [record for record in source.records if record["status"] == "ok"]
        points = scored_frame(done)
        if points.empty:
            continue
        bits = {r["id"]: r["traffic"]["nominal_bits_per_inference"] for r in done}
        points = points.assign(
            bits=points.id.map(bits),
            full_label=[row.label.replace(f", {row.payload}", "") for row in points.itertuples()],
        )
        for _, row in points[points.payload != "fp32"].iterrows():
            shared = [points[key] == row[key] for key in SHARED]
            same = points[np.logical_and.reduce(shared) & (points.payload == "fp32")]
            if len(same):
                rows.append(_pair(source, row, same.iloc[0]))
    pairs = pd.DataFrame(rows)
    return pairs if pairs.empty else pairs.drop_duplicates(["task", "label", "devices", "payload"])


def _pair(source, row, full):
    change = paired_change(row, full, source.scores)
    sign = 1 if is_rising(row.metric) else -1
    unit = 1 if factor(row.metric) > 1 else full.value
    return {
        "task": source.task,
        "strategy": row.strategy,
        "label": full.label,
        "devices": row.devices,
        "payload": row.payload,
        "metric": row.metric,
        "fp32": row_text(full),
        "reduced": value_text(row.metric, row.value),
        "points": 0.0 - sign * 100 * change[0] / unit,  # 0.0: no negative zero
        "one_sample": 100 / (row["last"] - row["first"] + 1),
        "difference": change_text(row.metric, *change),
        "ratio": row.bits / full.bits,
    }


def payload_table(pairs):
    """The pairs for people."""
    return pd.DataFrame(
        {
            "task": pairs.task,
            "strategy": pairs.label,
            "P": pairs.devices,
            "payload": pairs.payload,
            "bits of fp32's": pairs.ratio.map("{:.3f}".format),
            "score in": pairs.metric.map(metric_name),
            "fp32": pairs.fp32,
            "reduced": pairs.reduced,
            "difference": pairs.difference,
        }
    )


def check_int8(pairs):
    """PRISM and Voltage within ALLOWED_POINTS of fp32 at a quarter of the bits; of few samples one
    may be lost.
    """
    chosen = pairs[pairs.payload == "int8"]
    lost = chosen[chosen.points > np.maximum(ALLOWED_POINTS, chosen.one_sample) + 1e-9]
    wide = chosen[chosen.ratio > QUARTER]
    worst = chosen.points.max()
    detail = (
        f"{len(chosen)} points, at most {worst:.2f} points lost, at most "
        f"{chosen.ratio.max():.3f} of the bits"
        + "".join(f"; {r.task} {spoken(r.label)} P = {r.devices}: {r.points:.2f}" for r in
                  lost.itertuples())
    )  # fmt: skip
    return Check(
        f"int8 payloads within {ALLOWED_POINTS:g} points of fp32 at a quarter of the bits",
        lost.empty and wide.empty, detail,
    )  # fmt: skip


def payload_chapter(pairs):
    """A Chapter; None without pairs."""
    if pairs.empty:
        return None
    parts = []
    for payload in [name for name in PAYLOADS if (pairs.payload == name).any()]:
        rows = pairs[pairs.payload == payload]
        worst = rows.loc[rows.points.idxmax()]
        parts.append(
            f"{payload} sends at most {rows.ratio.max():.3f} of the bits and "
            f"loses at most {max(worst.points, 0):.2f} points ({worst.task}, "
            f"{spoken(worst.label)}, {worst.devices} devices), {rows.points.mean():.2f} on average"
        )
    text = [
        "The first thing that an engineer would try is to send fewer bits a number. Points are "
        "hundredths of accuracy and of rank correlation, and percent of a loss, on the same "
        "samples.",
        f"{'; '.join(parts)}. A value of int8 is a row's scale times a whole number from -127 to "
        "127, so that beside the quarter there are four bytes a row. Fewer bits than that are not "
        "to be had by narrower numbers: a row has hundreds of them, where an index stands for the "
        "whole row.",
    ]
    return Chapter(
        "payload", "Half-precision and 8-bit payloads", text,
        [("Reduced payloads beside fp32", payload_table(pairs))],
        lead=check_int8(pairs).detail.join(["Payloads in int8: ", "."]),
    )  # fmt: skip
