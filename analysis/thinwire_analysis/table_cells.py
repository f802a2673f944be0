"""Judges the published cells beside ours that `thinwire tables --format json` wrote."""

import json
from pathlib import Path

from thinwire_analysis.checks import Check
from thinwire_analysis.errors import InputError

STRATEGY_TABLES = ("vit", "bert", "gpt2")
TOTALS = "gflops_total"
MUST_BE_EQUAL = ("pdplc_tokens", "cr", "comm_speedup_percent")
# Of 38 totals, 5 are rounded otherwise in the paper: ViT Voltage twice, GPT-2 single and Voltage.
MINIMUM_EQUAL_TOTALS = 33
TOTAL_TOLERANCE_PERCENT = 0.04


def load_cells(path):
    """The list of cells. Raises InputError when the file is not one."""
    try:
        cells = json.loads(Path(path).read_text(encoding="utf-8"))
        keys = {"table", "row", "column", "published", "ours", "equal"}
        if not all(keys <= set(cell) for cell in cells):
            raise ValueError(f"a cell without one of {', '.join(sorted(keys))}")
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{path}: {error}") from error
    return cells


def check_cells(cells):
    """One check for the totals, one for each column that has to be equal throughout."""
    totals = _printed(cells, TOTALS)
    equal = sum(cell["equal"] is True for cell in totals)
    largest = max((_relative_percent(cell) for cell in totals), default=float("inf"))
    checks = [
        Check(
            "GFLOPs totals equal to the printed digit",
            equal >= MINIMUM_EQUAL_TOTALS and largest <= TOTAL_TOLERANCE_PERCENT,
            f"{equal} of {len(totals)} (at least {MINIMUM_EQUAL_TOTALS}), the others within "
            f"{largest:.3f} % (allowed {TOTAL_TOLERANCE_PERCENT})",
        )
    ]
    for column in MUST_BE_EQUAL:
        printed = _printed(cells, column)
        differing = [f"{c['table']} {c['row']}" for c in printed if c["equal"] is not True]
        detail = f"{len(printed) - len(differing)} of {len(printed)}"
        if differing:
            detail += "; not " + ", ".join(differing)
        checks.append(Check(f"{column} cells equal", bool(printed) and not differing, detail))
    return checks


def _printed(cells, column):
    return [
        cell
        for cell in cells
        if cell["table"] in STRATEGY_TABLES
        and cell["column"] == column
        and cell["published"] is not None
    ]


def _relative_percent(cell):
    """How far our printed figure is from theirs; infinite when there is none of ours."""
    if cell["ours"] is None:
        return float("inf")
    published = float(cell["published"])
    return 100 * abs(float(cell["ours"]) / published - 1)
