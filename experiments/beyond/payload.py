"""Scores of voltage and PRISM with reduced payloads beside fp32's: a table, and what int8 keeps.

Usage: payload.py RECORDS...   (one file of `thinwire eval` a task; payload.sh calls this)
Points are hundredths of accuracy and of correlation, and percent of a loss. Bits are those of the
exchanges before blocks: what a device sends beside them, such as the sum of a mean over tokens, has
no format to choose. Exit status: 0 int8 keeps what it has to, 1 it does not or is not there.
"""

import json
import sys
from pathlib import Path

ALLOWED_POINTS = 0.3
QUARTER = 0.2813  # 8 bits of 32, and a scale a row, of 32 values in the narrowest model
FALLING = ("bits_per_byte", "bits_per_character", "perplexity")
HEADING = ("task", "strategy", "P", "payload", "metric", "score", "points lost", "of fp32's bits",
           "output cosine")  # fmt: skip


def point_of(record):
    """What a point and its fp32 counterpart share."""
    spec = record["spec"]
    return spec["strategy"], spec["devices"], spec["segments"], spec["compression-rate"]


def payload_of(record):
    return record["spec"].get("payload", "fp32")


def points_lost(record, full):
    """Positive where the answers are worse than with fp32 rows."""
    ours, theirs = (r["accuracy"]["value"] for r in (record, full))
    if record["accuracy"]["metric"] in FALLING:
        return 100 * (ours - theirs) / theirs
    return 100 * (theirs - ours)


def compare(task, records):
    """One dict a record with a counterpart: task, record, lost, ratio."""
    full = {point_of(record): record for record in records if payload_of(record) == "fp32"}
    return [
        {
            "task": task,
            "record": record,
            "lost": points_lost(record, full[point_of(record)]),
            "ratio": exchange_bits(record) / exchange_bits(full[point_of(record)]),
        }
        for record in records
        if point_of(record) in full
    ]


def exchange_bits(record):
    return record["traffic"]["nominal_bits_per_inference"]


def cells(row):
    record = row["record"]
    strategy, devices, segments, rate = point_of(record)
    size = f", CR = {rate:g}" if rate else f", L = {segments}" if segments else ""
    accuracy = record["accuracy"]
    return (
        row["task"], strategy + size, str(devices), payload_of(record), accuracy["metric"],
        f"{accuracy['value']:.4f}", f"{row['lost']:+.3f}", f"{row['ratio']:.4f}",
        f"{accuracy['agreement']['output_cosine']:.6f}",
    )  # fmt: skip


def print_table(rows):
    lines = [HEADING, *map(cells, rows)]
    widths = [max(map(len, column)) for column in zip(*lines)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def verdicts(rows):
    """(passed, line) of each claim."""
    int8 = [row for row in rows if payload_of(row["record"]) == "int8"]
    if not int8:
        return [(False, "int8: no record of it")]
    most = max(int8, key=lambda row: row["lost"])
    widest = max(int8, key=lambda row: row["ratio"])
    miscounted = [r for r in rows if r["record"]["checks"]["counted_equals_predicted"] is not True]
    return [
        (most["lost"] <= ALLOWED_POINTS,
         f"int8 loses at most {most['lost']:.3f} points in {len(int8)} settings "
         f"({' '.join(cells(most)[:3])}; allowed {ALLOWED_POINTS:g})"),
        (widest["ratio"] <= QUARTER,
         f"int8 sends at most {widest['ratio']:.4f} of fp32's bits (allowed {QUARTER:g})"),
        (not miscounted, f"bits are counted as predicted in {len(rows) - len(miscounted)} of "
                         f"{len(rows)} points"),
    ]  # fmt: skip


def main(paths):
    rows = []
    for path in map(Path, paths):
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        rows += compare(path.stem, [record for record in records if record["status"] == "ok"])
    print_table(rows)
    print()
    found = verdicts(rows)
    for passed, line in found:
        print("pass" if passed else "FAIL", line)
    return 0 if all(passed for passed, _ in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
