"""The chapter about lost packets: accuracy and latency against the loss rate."""

import numpy as np
import pandas as pd

from thinwire_analysis import palette
from thinwire_analysis.accuracy_comparisons import FAILS, HOLDS, paired_change, verdict
from thinwire_analysis.accuracy_format import NONE, factor, metric_name, value_text
from thinwire_analysis.accuracy_frame import is_rising
from thinwire_analysis.beyond_records import conditions_frame
from thinwire_analysis.chapter import Chapter, sentence, spoken
from thinwire_analysis.figures import panels
from thinwire_analysis.html_report.catalogue import Figure

DASHES = {"": "-", "retransmit": "-", "skip": "--", "reuse": ":"}
POLICY_MARKERS = {"": "o", "retransmit": "o", "skip": "v", "reuse": "s"}


def loss_chapter(records, scores=None):
    """A Chapter of eval and run records with losses; None where there is none.

    scores: {id: PointScores} of the records, for what is more than chance
    """
    if not records:
        return None
    frame = conditions_frame(records)
    if not (frame.loss > 0).any():
        return None
    scored = with_lossless(frame[frame.value.notna() & (frame.devices > 1)])
    timed = with_lossless(frame[frame.mean_s.notna() & (frame.devices > 1)])
    tables, figures, text = [], [], [_meaning()]
    if not scored.empty:
        table = loss_table(scored, "value")
        tables.append(("Score against the loss rate", table))
        figures.append(_figure(scored, "value", "Score against the loss rate", table))
        for metric, rows in scored.groupby("metric", sort=False):
            text.append(" ".join(filter(None, [
                _scores(rows, metric), _policies(rows, scores or {}), _unharmed(rows, scores or {})
            ])))
    if not timed.empty:
        table = loss_table(timed, "mean_s")
        tables.append(("Mean latency (ms) against the loss rate", table))
        figures.append(_figure(timed, "mean_s", "Mean latency against the loss rate", table))
        text.append(_times(timed))
    return Chapter("loss", "Lost packets", text, tables, figures, " ".join(text[1:2]))


def with_lossless(frame):
    """The frame with a loss-free row under each policy that has a point with losses."""
    keys = ["model", "label", "devices", "link", "topology"]
    lossy = frame[frame.loss > 0]
    policies = lossy[[*keys, "policy"]].drop_duplicates()
    clean = frame[frame.loss == 0].drop(columns="policy").merge(policies, on=keys)
    both = pd.concat([clean, lossy], ignore_index=True)[list(frame.columns)]
    return both.drop_duplicates([*keys, "policy", "loss"])


def loss_table(frame, column):
    """A row a model, strategy, P and policy (and link, of times); a column a loss rate."""
    keys = ["model", "label", "devices", "policy"] + (["link"] if column == "mean_s" else [])
    rates = sorted(frame.loss.unique())
    made = []
    for found, part in frame.groupby(keys, sort=False):
        entry = dict(zip(["model", "strategy", "P", "lost packets", "link"], found))
        for rate in rates:
            row = part[part.loss == rate]
            entry[f"{100 * rate:g} %"] = _cell(row.iloc[0], column) if len(row) else NONE
        made.append(entry)
    return pd.DataFrame(made)


def _cell(row, column):
    return value_text(row.metric, row.value) if column == "value" else f"{1e3 * row.mean_s:.4g}"


def _figure(frame, column, title, table):
    caption = {
        "value": "Dashed: what a lost packet was about is left out; dotted: the exchange before "
        "stands in. Packets that are sent again change no score.",
        "mean_s": "Mean of the iterations; a packet that is sent again delays its message.",
    }[column]
    kind = "loss-score" if column == "value" else "loss-latency"
    return Figure(kind, title, caption, lambda sheet: draw(frame, column, title, sheet), table)


def draw(frame, column, title, sheet):
    """A panel a model, a curve a strategy, P and policy."""
    models = list(dict.fromkeys(frame.model))
    with panels(sheet, title, len(models), size=(4.6, 3.8)) as axes:
        for axis, model in zip(axes, models):
            rows = frame[frame.model == model]
            keys = ["strategy", "label", "devices", "policy", "link"]
            for (strategy, label, devices, policy, _), curve in rows.groupby(keys, sort=False):
                curve = curve.sort_values("loss")
                values = curve.value * factor(curve.metric.iloc[0]) if column == "value" else (
                    1e3 * curve.mean_s
                )  # fmt: skip
                axis.plot(
                    100 * curve.loss, values, color=palette.colour(strategy),
                    linestyle=DASHES.get(policy, "-"), marker=POLICY_MARKERS.get(policy, "o"),
                    markersize=4, linewidth=1.2,
                    label=", ".join(filter(None, (label, f"P = {devices}", policy))),
                )  # fmt: skip
            axis.set_title(model, fontsize=10)
            axis.set_xlabel("lost packets (%)")
            axis.grid(alpha=0.3)
            if column == "value":
                axis.set_ylabel(metric_name(rows.metric.iloc[0]))
                if not is_rising(rows.metric.iloc[0]):
                    axis.invert_yaxis()  # upwards is better in every panel
            else:
                axis.set_ylabel("mean latency of one inference (ms)")
                axis.set_yscale("log")


def _meaning():
    return (
        "A link loses each packet with a seeded probability. A lost packet is sent again, which "
        "takes time and leaves the answer as it is; or the receiver goes on without it: the tokens "
        "that it was about are left out of attention (skip), or what the exchange before said of "
        "them stands in (reuse), which takes no time and changes the answer."
    )


def _scores(frame, metric):
    """Where policies without retransmission are at the highest loss rate, and which is better."""
    worst = frame.loss.max()
    parts = []
    sign = 1 if is_rising(metric) else -1
    for (_, label, devices), rows in frame.groupby(["model", "label", "devices"], sort=False):
        at_worst = rows[rows.loss == worst].drop_duplicates("policy").set_index("policy").value
        clean = rows[rows.loss == 0].value
        dropped = at_worst[at_worst.index.isin(["skip", "reuse"])]
        if len(dropped) and len(clean):
            best = dropped.idxmax() if sign > 0 else dropped.idxmin()
            parts.append(
                f"{spoken(label)} on {devices} devices from {value_text(metric, clean.iloc[0])} "
                f"to {value_text(metric, dropped[best])} ({best})"
            )
    if not parts:
        return ""
    return (
        f"{sentence(sorted(frame.model.unique()))}, {metric_name(metric)}: with "
        f"{100 * worst:g} % of the packets lost and the better of the two policies, "
        f"{sentence(parts)}."
    )


def _policies(frame, scores):
    """Reuse against skip at every loss rate, by the intervals of paired differences."""
    found = []
    for _, rows in frame[frame.loss > 0].groupby(["model", "label", "devices", "loss"], sort=False):
        of = {row.policy: row for _, row in rows.iterrows()}
        if {"skip", "reuse"} <= set(of):
            found.append(_verdict(of["reuse"], of["skip"], scores))
    if not found or not scores:
        return ""
    return (
        f"Of {len(found)} pairs of the policies, at every loss rate, reuse scores higher by more "
        f"than chance in {found.count(HOLDS)} and lower in {found.count(FAILS)}."
    )


def _unharmed(frame, scores):
    """Up to which loss rate no score falls by more than chance."""
    lowered = {}
    for _, rows in frame.groupby(["model", "label", "devices", "policy"], sort=False):
        clean = rows[rows.loss == 0]
        for _, row in rows[rows.loss > 0].iterrows():
            if len(clean):
                found = _verdict(row, clean.iloc[0], scores)
                lowered.setdefault(row.loss, []).append(found == FAILS)
    if not scores or not lowered:
        return ""
    harmful = [rate for rate in sorted(lowered) if any(lowered[rate])]
    if not harmful:
        return "No score falls by more than chance."
    return (
        f"The first scores that fall by more than chance are {sum(lowered[harmful[0]])} of "
        f"{len(lowered[harmful[0]])} at {100 * harmful[0]:g} %; at {100 * max(lowered):g} % it is "
        f"{sum(lowered[max(lowered)])} of {len(lowered[max(lowered)])}."
    )


def _verdict(row, other, scores):
    change, low, high = paired_change(row, other, scores)
    if not is_rising(row.metric):
        change, low, high = -change, -high, -low
    return verdict(change, low, high)


def _times(frame):
    again = frame[frame.policy.isin(["retransmit"])]
    if again.empty:
        return ""
    keys = ["model", "label", "devices", "link"]
    worst = again.loss.max()
    ratios = {}
    for found, rows in again.groupby(keys, sort=False):
        clean, lossy = rows[rows.loss == 0].mean_s, rows[rows.loss == worst].mean_s
        if len(clean) and len(lossy):
            ratios[found] = float(lossy.iloc[0] / clean.iloc[0])
    if not ratios:
        return ""
    most, least = max(ratios, key=ratios.get), min(ratios, key=ratios.get)
    named = [
        f"{ratios[key]:.2f} ({spoken(key[1])}, {key[2]} devices, {key[3]})" for key in (most, least)
    ]
    return (
        f"Sending again at a loss rate of {100 * worst:g} % multiplies the mean latency by at "
        f"most {named[0]} and at least {named[1]}; the median over all points is "
        f"{np.median(list(ratios.values())):.2f}."
    )
