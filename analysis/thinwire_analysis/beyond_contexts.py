"""What contexts.py says of contexts that make indices cheap: a file contexts.txt a task."""

import re

import numpy as np
import pandas as pd

from thinwire_analysis.errors import InputError

EXCHANGE = re.compile(r"exchange (\d+)")
ALONE = re.compile(r"  alone: ([\d.]+) bits a token")
STEP = re.compile(r"  and (.+)\^[\d.]+: ([\d.]+) bits a token, (\d+) pairs counted")


def load_contexts(tasks, folder):
    """One row a task, exchange and step of the greedy choice.

    Columns: task, exchange, step (0: the index alone), context (empty for step 0), bits (of a
    token, ideal), pairs (counted, what a table grows with).
    """
    rows = []
    for task in tasks:
        path = folder / task.name / "contexts.txt"
        if path.exists():
            rows += _rows(task.name, path)
    return pd.DataFrame(rows)


def _rows(task, path):
    rows, exchange = [], None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if found := EXCHANGE.fullmatch(line):
            exchange = int(found[1])
        elif exchange is not None and (found := ALONE.fullmatch(line)):
            step = 0
            rows.append(_row(task, exchange, step, "", found[1], 0))
        elif rows and (found := STEP.fullmatch(line)):
            step += 1
            rows.append(_row(task, exchange, step, found[1], found[2], found[3]))
        else:
            raise InputError(f"{path}, line {number}: nothing that contexts.py writes")
    return rows


def _row(task, exchange, step, context, bits, pairs):
    return {
        "task": task, "exchange": exchange, "step": step, "context": context,
        "bits": float(bits), "pairs": int(pairs),
    }  # fmt: skip


def contexts_table(found):
    """A row a task and exchange: alone, with the first context chosen, and with all."""
    made = []
    for (task, exchange), steps in found.groupby(["task", "exchange"], sort=False):
        chosen = steps[steps.step > 0]
        made.append(
            {
                "task": task,
                "exchange": exchange,
                "alone": f"{steps.bits.iloc[0]:.2f}",
                "first context": chosen.context.iloc[0] if len(chosen) else "none pays",
                "with it": f"{chosen.bits.iloc[0]:.2f}" if len(chosen) else "–",
                "further ones": "; ".join(chosen.context.iloc[1:]) or "–",
                "with all": f"{steps.bits.iloc[-1]:.2f}",
                "pairs": int(chosen.pairs.sum()),
            }
        )
    return pd.DataFrame(made)


def contexts_text(found):
    """What richer contexts are worth, in words; empty without any."""
    if found.empty:
        return ""
    parts = []
    for task, rows in found[found.exchange > 0].groupby("task", sort=False):
        by_exchange = [steps for _, steps in rows.groupby("exchange")]
        first = np.mean([steps.bits.iloc[min(1, len(steps) - 1)] for steps in by_exchange])
        best = np.mean([steps.bits.iloc[-1] for steps in by_exchange])
        grown = rows[rows.step > 0].pairs.sum() / max(1, rows[rows.step == 1].pairs.sum())
        parts.append(
            f"{task} {first:.2f} bits a token with the best single one and {best:.2f} with all that "
            f"pay, which counts {grown:.1f} times the pairs"
        )
    return (
        "Richer contexts (a neighbouring token, two exchanges back), ideal bits behind the first "
        f"exchange without frames: {'; '.join(parts)}."
    )
