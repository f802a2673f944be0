"""Score against bits and against time: what coded indices and reduced payloads add to the front."""

import pandas as pd

from thinwire_analysis import palette
from thinwire_analysis.accuracy_figures import (
    COUNT_MARKERS,
    NOT_FASTER,
    PANEL,
    draw_single,
    pareto,
)
from thinwire_analysis.accuracy_format import bits_text, factor, metric_name, value_text
from thinwire_analysis.accuracy_frame import is_rising
from thinwire_analysis.accuracy_tables import single_value
from thinwire_analysis.figures import panels, use_log_scale

# Scores this far below the single device's, in printed units, still count as the same answer.
CLOSE_POINTS = 1.0
# cost: (factor, name) on an axis
COSTS = {
    "sent_bits": (1e-3, "kbit sent by all devices in one inference"),
    "latency_ms": (1, "latency of one inference (ms)"),
}


def front_rows(task, cost):
    """The points a front chooses from: several devices, one row a configuration, with the cost.

    `is_new` tells coded indices and reduced payloads from what the papers have.
    """
    rows = task.grid()
    if cost == "latency_ms":
        keys = ["strategy", "devices", "label"]
        rows = rows.merge(task.latency[[*keys, "latency_ms"]], on=keys).drop_duplicates(keys)
    else:
        rows = rows[rows.sent_bits > 0]
    rows = rows[(rows.devices > 1) & ~rows.strategy.isin(NOT_FASTER)]
    return rows.assign(is_new=(rows.payload != "fp32") | (rows.coding != "fixed"))


def fronts(rows, cost):
    """(front of the papers' points, front of all points)"""
    return pareto(rows[~rows.is_new], cost), pareto(rows, cost)


def front_table(tasks):
    """Every point of the front over bits, and whether the papers' points have it."""
    made = []
    for task in tasks:
        rows = front_rows(task, "sent_bits")
        for _, row in fronts(rows, "sent_bits")[1].iterrows():
            made.append(
                {
                    "task": task.name,
                    "point": row.label,
                    "P": row.devices,
                    "bits": bits_text(row.sent_bits),
                    "score": value_text(row.metric, row.value),
                    "in": metric_name(row.metric),
                    "new": "yes" if row.is_new else "no",
                }
            )
    return pd.DataFrame(made)


def close_points(task, cost):
    """(cheapest of the papers' points, cheapest of all) that score within CLOSE_POINTS of the
    single device in the printed unit, or a hundredth of it for bits per byte; None where none does.
    """
    alone = single_value(task)
    allowed = CLOSE_POINTS / 100
    sign = 1 if is_rising(task.metric) else -1
    rows = front_rows(task, cost)
    if factor(task.metric) == 1:
        allowed *= alone
    near = rows[sign * (rows.value - alone) >= -allowed]
    return tuple(
        kept.loc[kept[cost].idxmin()] if len(kept) else None
        for kept in (near[~near.is_new], near)
    )


def close_table(tasks):
    """A row a task: the fewest bits and the shortest time at nearly the single device's score."""
    made = []
    for task in tasks:
        for cost in COSTS:
            if cost == "latency_ms" and task.latency.empty:
                continue
            without, with_new = close_points(task, cost)
            made.append(
                {
                    "task": task.name,
                    "least": "bits" if cost == "sent_bits" else "latency",
                    "papers' best": _named(without),
                    "costs": _cost(without, cost),
                    "best of all": _named(with_new),
                    "then costs": _cost(with_new, cost),
                    "ratio": "–" if without is None or with_new is None
                    else f"{with_new[cost] / without[cost]:.2f}",
                }
            )  # fmt: skip
    return pd.DataFrame(made)


def draw_fronts(tasks, cost, title, sheet):
    """A panel a task: the papers' points filled, the new ones hollow, and both fronts."""
    tasks = [task for task in tasks if not front_rows(task, cost).empty]
    with panels(sheet, title, len(tasks), size=PANEL) as axes:
        for axis, task in zip(axes, tasks):
            rows = front_rows(task, cost)
            times, (unit, label) = factor(task.metric), COSTS[cost]
            for (strategy, devices, is_new), part in rows.groupby(
                ["strategy", "devices", "is_new"], sort=False
            ):
                axis.plot(
                    unit * part[cost], times * part.value, color=palette.colour(strategy),
                    markersize=4.5, marker=COUNT_MARKERS.get(devices, "x"), linestyle="none", alpha=0.85,
                    markerfacecolor="none" if is_new else None,
                )  # fmt: skip
            for front, line, name in zip(
                fronts(rows, cost), (":", "-"), ("best of the papers'", "best of all")
            ):
                axis.plot(
                    unit * front[cost], times * front.value, color="#555555", linewidth=1.1,
                    linestyle=line, drawstyle="steps-post", zorder=0, label=name,
                )  # fmt: skip
            _finish(axis, task, rows, label)


def _finish(axis, task, rows, label):
    draw_single(axis, task)
    for strategy in rows.strategy.unique():
        axis.plot(
            [], [], color=palette.colour(strategy), marker="o", linestyle="none", label=strategy
        )
    for devices in sorted(rows.devices.unique()):
        axis.plot(
            [], [], color="#555555", marker=COUNT_MARKERS.get(devices, "x"), linestyle="none",
            label=f"P = {devices}",
        )  # fmt: skip
    if rows.is_new.any():
        axis.plot(
            [], [], color="#555555", marker="o", markerfacecolor="none", linestyle="none",
            label="coded indices, reduced payloads",
        )  # fmt: skip
    axis.set_title(f"{task.name}, {int(rows.samples.min())} samples", fontsize=10)
    axis.set_xlabel(label)
    axis.set_ylabel(metric_name(task.metric))
    axis.grid(alpha=0.3)
    use_log_scale(axis, "x")
    if not is_rising(task.metric):
        axis.invert_yaxis()  # upwards is better in every panel


def _named(row):
    return "none" if row is None else f"{row.label}, P = {row.devices}"


def _cost(row, cost):
    if row is None:
        return "–"
    return bits_text(row[cost]) if cost == "sent_bits" else f"{row[cost]:.4g} ms"
