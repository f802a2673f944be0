"""Does PRISM's flat accuracy at CR = 128 come from padding? Padded inputs beside packed ones."""

import pandas as pd

from thinwire_analysis.accuracy_format import (
    NONE,
    change_text,
    metric_name,
    row_text,
)

# Percent of the sequences whose real tokens reach past device 0.
HIDDEN_BELOW, REACHED_ABOVE = 5, 95


def padding_table(task, scores_of):
    """One row a data file and P: where real tokens end, and what PRISM loses at its highest CR.

    scores_of: (prism row, single row) -> (difference, low, high), paired
    task.lengths: what padded_inputs.lengths found of the same samples
    """
    rows = task.part("padding", "prism", "exact")
    places = ("data", "devices", "first", "last")
    shares = {tuple(entry[name] for name in places): entry for entry in task.lengths}
    made = []
    chosen = rows[(rows.strategy == "prism") & (rows.scaling == "on")].sort_values("cr")
    for _, row in chosen.drop_duplicates(list(places), keep="last").sort_index().iterrows():
        single = rows[(rows.strategy == "single") & (rows["data"] == row["data"])
                      & (rows["first"] == row["first"]) & (rows["last"] == row["last"])]  # fmt: skip
        share = shares.get(tuple(row[name] for name in places))
        if single.empty or share is None:
            continue
        single = single.iloc[0]
        made.append(
            {
                "data": row["data"],
                "positions": f"{share['positions']:.3g}",
                "P": row.devices,
                "CR": f"{row.cr:.3g}",
                "pairs": row.samples,
                "sequences past device 0": _share(share["past"], share["sequences"]),
                "pairs with one": _share(share["samples_past"], share["samples"]),
                f"single device, {metric_name(row.metric)}": row_text(single),
                "prism": row_text(row),
                "prism - single": change_text(row.metric, *scores_of(row, single)),
            }
        )
    return pd.DataFrame(made)


def padding_finding(table):
    """Sentences that say what the table shows; nothing without a padded and a packed file."""
    if table.empty:
        return ""
    hidden = table[table["sequences past device 0"].map(_number) < HIDDEN_BELOW]
    reached = table[table["sequences past device 0"].map(_number) > REACHED_ABOVE]
    if hidden.empty or reached.empty:
        return ""
    return (
        "Where padding keeps the real tokens on device 0, PRISM changes the score by "
        f"{_changes(hidden)}. Without padding, where every device holds real tokens, by "
        f"{_changes(reached)}. {_verdict(hidden, reached)}"
    )


def _verdict(hidden, reached):
    untouched = hidden[hidden["sequences past device 0"].map(_number) == 0]
    judged = hidden if untouched.empty else untouched
    flat = all(_includes_zero(text) for text in judged["prism - single"])
    lossy = any(not _includes_zero(text) for text in reached["prism - single"])
    if flat and lossy:
        return (
            "A flat score at a high rate of compression is thus what padding gives: the means that "
            "cross the link stand for padding, which attention does not see."
        )
    return "The two cannot be told apart on these samples."


def _includes_zero(text):
    if "[" not in text:
        return False
    low, high = (float(part) for part in text.split("[")[1].rstrip("]").split(", "))
    return low <= 0 <= high


def _share(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else NONE


def _number(text):
    return float(text.split()[0]) if text != NONE else float("nan")


def _changes(rows):
    return "; ".join(
        f"{change} (P = {p} of {positions} positions)"
        for change, p, positions in zip(rows["prism - single"], rows["P"], rows["positions"])
    )
