"""Bits a token of coded indices beside fixed ones, at equal predictions.

A point of a task's part `coding` is a strategy, P and codebook; its records differ in the coding.
"""

import numpy as np
import pandas as pd

from thinwire_analysis.accuracy_format import NONE
from thinwire_analysis.beyond_break_even import family
from thinwire_analysis.checks import Check
from thinwire_analysis.records import spec_of

CODINGS = ("fixed", "entropy", "cross-layer")
# Of TRACE's bits: (family, K) of what the study promises for trace-b on two devices.
TARGETS = {("bert", 1024): 0.40, ("gpt2", 512): 0.40, ("vit", 512): 0.65}
TARGET_STRATEGY, TARGET_DEVICES = "trace-b", 2
POINT = ["task", "model", "strategy", "devices", "codewords"]


def coding_frame(tasks):
    """One row a finished record of the part `coding`.

    Columns: POINT, coding, tokens (mean of a sequence); of coded ones, else NaN or empty, ratio
    (of the frames' mean bits to those of fixed ones, headers and padding included), bits and
    fixed_bits (of a token, mean over exchanges), by_exchange and fixed_by_exchange (lists), worst
    (of the fixed bits, what no sequence's frames can exceed); is_same (predictions are those of
    the fixed coding; None without both's scores).
    """
    rows = [
        {"task": task.name, **_row(record, task.scores)}
        for task in tasks
        for record in task.records.get("coding", [])
        if record["status"] == "ok"
    ]
    fixed = {
        tuple(row[key] for key in POINT): row["scores"] for row in rows if row["coding"] == "fixed"
    }
    for row in rows:
        row["is_same"] = same_scores(
            row.pop("scores"), fixed.get(tuple(row[key] for key in POINT))
        )
    return pd.DataFrame(rows)


def same_scores(scores, others):
    """Whether two points gave the same answer to every sample; None where either has no scores."""
    if scores is None or others is None:
        return None
    return set(scores.columns) == set(others.columns) and all(
        np.array_equal(values, others.columns[name]) for name, values in scores.columns.items()
    )


def coding_ratios(frame):
    """One row a point that was coded, its codings side by side.

    Columns: POINT, tokens, `fixed`, `entropy`, `cross-layer` (bits of a token), `<coding> ratio`
    (NaN without such a record), worst (the most of the fixed bits), is_same (of all its codings;
    None where unknown), by_exchange ({coding: bits of a token at each exchange}).
    """
    rows = []
    coded = frame[frame.coding != "fixed"] if len(frame) else frame
    for found, part in coded.groupby(POINT, sort=False) if len(coded) else ():
        first = part.iloc[0]
        known = [same for same in part.is_same if same is not None]
        row = dict(zip(POINT, found)) | {
            "tokens": first.tokens,
            "fixed": first.fixed_bits,
            "worst": part.worst.max(),
            "is_same": all(known) if known else None,
            "by_exchange": {"fixed": first.fixed_by_exchange},
        }
        for coding in CODINGS[1:]:
            own = part[part.coding == coding]
            row[coding] = own.bits.iloc[0] if len(own) else np.nan
            row[f"{coding} ratio"] = own.ratio.iloc[0] if len(own) else np.nan
            if len(own):
                row["by_exchange"][coding] = own.by_exchange.iloc[0]
        rows.append(row)
    return pd.DataFrame(rows)


def coding_table(ratios):
    """For people: bits an index of each coding, their parts of fixed, and the target."""
    made = []
    for row in ratios.to_dict("records"):
        target = target_of(row)
        made.append(
            {
                "task": row["task"],
                "model": row["model"],
                "K": row["codewords"],
                "strategy": row["strategy"],
                "P": row["devices"],
                "tokens": f"{row['tokens']:.4g}",
                **{coding: _bits(row[coding]) for coding in CODINGS},
                "entropy / fixed": _bits(row["entropy ratio"]),
                "cross-layer / fixed": _bits(row["cross-layer ratio"]),
                "at most": NONE if target is None else f"{target:g}",
                "at worst": _bits(row["worst"]),
                "same predictions": {True: "yes", False: "NO", None: NONE}[row["is_same"]],
            }
        )
    return pd.DataFrame(made)


def target_of(row):
    """The part of fixed bits that a row has to reach, or None."""
    if (row["strategy"], row["devices"]) != (TARGET_STRATEGY, TARGET_DEVICES):
        return None
    return TARGETS.get((family(row["model"]), row["codewords"]))


def check_coding(tasks):
    """Verdicts: every coding has the fixed one's predictions, and the targets are reached."""
    frame = coding_frame(tasks)
    ratios = coding_ratios(frame)
    if ratios.empty:
        return []
    coded = frame[frame.coding != "fixed"]
    different = coded[[same is False for same in coded.is_same]]
    known = sum(same is not None for same in coded.is_same)
    checks = [
        Check(
            "coded indices give the fixed ones' predictions",
            different.empty and known > 0,
            f"{known - len(different)} of {known} points, sample by sample",
        )
    ]
    for row in ratios.to_dict("records"):
        target = target_of(row)
        if target is not None:
            checks.append(
                Check(
                    f"{row['task']}, K = {row['codewords']}: cross-layer at most {target:g} of "
                    "the fixed bits",
                    bool(row["cross-layer ratio"] <= target),
                    f"{row['cross-layer ratio']:.3f} ({_bits(row['cross-layer'])} of "
                    f"{_bits(row['fixed'])} bits a token, headers included)",
                )
            )
    return checks


def measured_ratios(tasks):
    """{(family, strategy): (part, coding)}: what is left of the bits on two devices, at the largest
    codebook of each family; as beyond_break_even.scaled takes it.
    """
    ratios = coding_ratios(coding_frame(tasks))
    found = {}
    if ratios.empty:
        return found
    two = ratios[(ratios.devices == 2) & ratios["cross-layer ratio"].notna()]
    for row in two.sort_values("codewords").to_dict("records"):
        key = family(row["model"]), row["strategy"]
        found[key] = row["cross-layer ratio"], "cross-layer"
    return found


def _row(record, scores):
    spec, accuracy = spec_of(record), record["accuracy"]
    coding, traffic = accuracy.get("index_coding"), record["traffic"].get("index_coding")
    row = {
        "model": spec["model"],
        "strategy": spec["strategy"],
        "devices": int(spec["devices"]),
        "codewords": int(spec["active_codewords"]),
        "coding": spec.get("index_coding") or "fixed",
        "tokens": (accuracy.get("tokens") or {}).get("mean", np.nan),
        "scores": scores.get(record["id"]),
    }
    if coding:
        row |= {
            "ratio": coding["ratio"],
            "bits": _mean(coding["bits_per_token"]),
            "fixed_bits": _mean(coding["fixed_bits_per_token"]),
            "by_exchange": coding["bits_per_token"],
            "fixed_by_exchange": coding["fixed_bits_per_token"],
            "worst": traffic["worst_case_bits"] / traffic["fixed_bits"] if traffic else np.nan,
        }
    return row


def _mean(values):
    """Of the exchanges that are coded."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else np.nan


def _bits(value):
    return NONE if value is None or not np.isfinite(value) else f"{value:.3f}"
