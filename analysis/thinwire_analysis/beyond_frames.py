"""What thinwire_code_frames says of real frames, also short ones: a file frames.json a task."""

import json

import pandas as pd

from thinwire_analysis.checks import Check
from thinwire_analysis.chapter import sentence
from thinwire_analysis.errors import InputError

# Seconds that one thread may take to encode and decode a frame of 99 tokens.
MOST_SECONDS = 20e-6


def load_frames(tasks, folder):
    """{task: rows of thinwire_code_frames, one an exchange}, where there are any.

    Raises InputError for a file of anything else.
    """
    found = {}
    for task in tasks:
        path = folder / task.name / "frames.json"
        if not path.exists():
            continue
        try:
            rows = json.loads(path.read_text(encoding="utf-8"))
            for row in rows:
                row["exchange"], row["lengths"][0]["fixed_bits"], row["time"]["encode_s"]
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise InputError(
                f"{path}: nothing that thinwire_code_frames writes ({error!r})"
            ) from error
        found[task.name] = rows
    return found


def lengths_table(frames):
    """A row a task and length: mean bits of such a frame over the exchanges behind the first."""
    made = []
    for task, rows in frames.items():
        lengths = [
            {"task": task, **length} for row in rows if row["exchange"] > 0
            for length in row["lengths"]
        ]  # fmt: skip
        for (_, tokens), part in pd.DataFrame(lengths).groupby(["task", "tokens"], sort=False):
            fixed, coded = part.fixed_bits.mean(), part.cross_layer_bits.mean()
            made.append(
                {
                    "task": task, "tokens": tokens, "fixed (bits)": f"{fixed:.0f}",
                    "cross-layer (bits)": f"{coded:.1f}", "ratio": f"{coded / fixed:.3f}",
                    "bits a token": f"{coded / tokens:.2f}",
                }
            )  # fmt: skip
    return pd.DataFrame(made)


def times_table(frames):
    """A row a task and exchange: what one thread takes for a frame, medians."""
    return pd.DataFrame(
        [
            {
                "task": task, "exchange": row["exchange"], "tokens": row["time"]["tokens"],
                "encode (µs)": f"{1e6 * row['time']['encode_s']:.1f}",
                "decode (µs)": f"{1e6 * row['time']['decode_s']:.1f}",
                "both (µs)": f"{1e6 * _both(row):.1f}",
            }
            for task, rows in frames.items() for row in rows
        ]
    )  # fmt: skip


def frames_text(frames):
    """How short frames fare and what coding costs in time, in words; empty without any."""
    if not frames:
        return ""
    table = lengths_table(frames)
    parts = []
    for task, rows in table.groupby("task", sort=False):
        short, long = rows.iloc[0], rows.iloc[-1]
        parts.append(
            f"{task} {short['cross-layer (bits)']} of {short['fixed (bits)']} bits with "
            f"{short.tokens} token{'s' if short.tokens > 1 else ''} and "
            f"{long['cross-layer (bits)']} of {long['fixed (bits)']} with {long.tokens}"
        )
    worst = max(_both(row) for rows in frames.values() for row in rows)
    return (
        f"The same indices cut into frames of other lengths: {sentence(parts)}. To encode and "
        f"decode 99 indices takes one thread {1e6 * worst:.1f} µs at most, at the exchange where "
        "it takes longest."
    )


def check_frames(frames):
    """Verdicts: coding is quick."""
    return [
        Check(
            f"{task}: encode and decode 99 indices in {1e6 * MOST_SECONDS:.0f} µs at every exchange",
            max(map(_both, rows)) <= MOST_SECONDS,
            f"{1e6 * min(map(_both, rows)):.1f} to {1e6 * max(map(_both, rows)):.1f} µs, medians",
        )
        for task, rows in frames.items()
    ]


def _both(row):
    return row["time"]["encode_s"] + row["time"]["decode_s"]
