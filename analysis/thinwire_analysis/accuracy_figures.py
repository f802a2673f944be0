"""Figures of the accuracy study: a panel a task; every score has its 95 % interval."""

import re

import numpy as np

from thinwire_analysis import palette
from thinwire_analysis.accuracy_format import factor, metric_name
from thinwire_analysis.accuracy_frame import is_rising
from thinwire_analysis.accuracy_tables import COMPARED, default_codebooks, single_value
from thinwire_analysis.figures import panels, use_log_scale

COUNT_MARKERS = {1: "*", 2: "o", 3: "s", 4: "D", 6: "^", 8: "v", 10: "P"}
# Of devices' curves that share a colour.
DASHES = {2: "-", 3: "--", 4: ":"}
PANEL = (4.4, 3.8)
# Sends least of the exact ones, but one inference takes as long as alone: no rival of the others.
NOT_FASTER = ("pipeline",)


def draw_rates(tasks, path):
    """Score of PRISM over CR: a colour a P, solid with scaling and dotted without."""
    tasks = [task for task in tasks if not task.part("prism").empty]
    with panels(path, "PRISM: score over the compression rate", len(tasks), size=PANEL) as axes:
        for axis, task in zip(axes, tasks):
            rows = task.part("prism")
            for index, devices in enumerate(sorted(rows.devices.unique())):
                for scaling, line in (("on", "-"), ("off", ":")):
                    curve = rows[(rows.devices == devices) & (rows.scaling == scaling)]
                    _curve(
                        axis, curve.sort_values("cr"), "cr", palette.VARIANT_COLOURS[index], line,
                        COUNT_MARKERS.get(devices, "o"), f"P = {devices}, scaling {scaling}",
                    )  # fmt: skip
            _finish(axis, task, "compression rate (uncompressed / compressed bits)")
            use_log_scale(axis, "x")


def draw_levels(tasks, path):
    """Score over the codewords in use (TRACE, Table III): a colour a strategy, a dash a P."""
    tasks = [task for task in tasks if not task.part("trace").empty]
    with panels(path, "Score over the codewords in use", len(tasks), size=PANEL) as axes:
        for axis, task in zip(axes, tasks):
            rows = default_codebooks(task.part("trace"))
            shown = [p for p in sorted(rows[rows.strategy == "trace-nb"].devices.unique())]
            for strategy in COMPARED:
                for devices in shown:
                    curve = rows[(rows.strategy == strategy) & (rows.devices == devices)]
                    _curve(
                        axis, curve.sort_values("codewords"), "codewords",
                        palette.colour(strategy), DASHES.get(devices, "-."),
                        palette.marker(strategy), f"{strategy}, P = {devices}",
                    )  # fmt: skip
            _finish(axis, task, "K (codewords in use)")
            axis.set_xscale("log")
            levels = sorted(rows.codewords.unique())
            axis.set_xticks(levels, [str(level) for level in levels])
            axis.minorticks_off()


def draw_devices(tasks, path):
    """Score of trace-b over the number of devices, a curve a level (TRACE, Fig. 9)."""
    tasks = [task for task in tasks if _trace_b(task).devices.nunique() > 1]
    with panels(path, "trace-b: score over the number of devices", len(tasks), size=PANEL) as axes:
        for axis, task in zip(axes, tasks):
            rows = _trace_b(task)
            for index, level in enumerate(sorted(rows.codewords.unique(), reverse=True)):
                curve = rows[rows.codewords == level].sort_values("devices")
                _curve(
                    axis, curve, "devices", palette.VARIANT_COLOURS[index], "-",
                    palette.VARIANT_MARKERS[index], f"K = {level}",
                )  # fmt: skip
            _finish(axis, task, "devices P")
            axis.set_xticks(sorted(rows.devices.unique()))


def draw_pareto_bits(tasks, path):
    """Score over the bits that all devices send in one inference; the line joins the best of those
    that make an inference faster.
    """
    with panels(path, "Score over bits on the link", len(tasks), size=PANEL) as axes:
        for axis, task in zip(axes, tasks):
            rows = task.grid()
            rows = default_codebooks(rows[(rows.sent_bits > 0) & (rows.devices > 1)])
            _front(axis, rows.assign(sent_kbit=rows.sent_bits / 1e3), "sent_kbit")
            _finish(axis, task, "kbit sent by all devices in one inference")
            use_log_scale(axis, "x")


def draw_pareto_latency(tasks, path):
    """Score over the predicted latency; the line joins the best."""
    tasks = [task for task in tasks if not task.latency.empty]
    title = f"Score over the latency predicted at {latency_setting(tasks)}"
    with panels(path, title, len(tasks), size=PANEL) as axes:
        for axis, task in zip(axes, tasks):
            rows = with_latency(task)
            single_ms = rows[rows.strategy == "single"].latency_ms
            if len(single_ms):
                axis.axvline(float(single_ms.iloc[0]), color="#999999", linewidth=0.8)
            _front(axis, rows, "latency_ms")
            _finish(axis, task, "latency of one inference (ms)")
            use_log_scale(axis, "x")


def latency_setting(tasks):
    """`10 Mbps`: the link of the predicted times."""
    rates = {re.sub(r"(?<=\d)(?=[A-Za-z])", " ", rate) for task in tasks for rate in task.latency.rate}
    return ", ".join(sorted(rates))


def with_latency(task):
    """The task's points that have a predicted latency, too."""
    rows = default_codebooks(task.grid())
    rows = rows.merge(task.latency, on=["strategy", "devices", "label"], how="inner")
    return rows.drop_duplicates(["strategy", "devices", "label"])


def pareto(rows, cost):
    """The rows that no other one beats in score at the same or less cost, by rising cost."""
    best, kept = -np.inf, []
    sign = 1 if len(rows) == 0 or is_rising(rows.metric.iloc[0]) else -1
    for index, row in rows.assign(signed=sign * rows.value).sort_values(
        [cost, "signed"], ascending=[True, False]
    ).iterrows():  # fmt: skip
        if row.signed > best:
            best = row.signed
            kept.append(index)
    return rows.loc[kept]


def _trace_b(task):
    rows = default_codebooks(task.part("trace"))
    return rows[rows.strategy == "trace-b"]


def _front(axis, rows, cost):
    for (strategy, devices), part in rows.groupby(["strategy", "devices"], sort=False):
        for scaling, fill in (("on", None), ("off", "none")):
            chosen = part[part.scaling.fillna("on") == scaling]
            times = factor(rows.metric.iloc[0])
            axis.plot(
                chosen[cost], times * chosen.value, color=palette.colour(strategy), markersize=4.5,
                marker=COUNT_MARKERS.get(devices, "x"), markerfacecolor=fill, linestyle="none",
                alpha=0.85,
            )  # fmt: skip
    front = pareto(rows[~rows.strategy.isin(NOT_FASTER)], cost)
    axis.plot(
        front[cost], factor(rows.metric.iloc[0]) * front.value, color="#555555", linewidth=1.0,
        drawstyle="steps-post", zorder=0, label="best at these bits or less" if cost == "sent_kbit"
        else "best in this time or less",
    )  # fmt: skip
    for strategy in rows.strategy.unique():
        axis.plot(
            [], [], color=palette.colour(strategy), marker="o", linestyle="none", label=strategy
        )
    if (rows.scaling == "off").any():
        axis.plot(
            [], [], color=palette.colour("prism"), marker="o", markerfacecolor="none",
            linestyle="none", label="prism, scaling off",
        )  # fmt: skip
    for devices in sorted(rows.devices.unique()):
        axis.plot(
            [], [], color="#555555", marker=COUNT_MARKERS.get(devices, "x"), linestyle="none",
            label=f"P = {devices}",
        )  # fmt: skip


def _curve(axis, curve, over, colour, line, marker, label):
    if curve.empty:
        return
    times = factor(curve.metric.iloc[0])
    reach = [(curve.value - curve.low).clip(lower=0), (curve.high - curve.value).clip(lower=0)]
    axis.errorbar(
        curve[over], times * curve.value, [(times * part).tolist() for part in reach],
        color=colour, linestyle=line, marker=marker, markersize=4.5, linewidth=1.2,
        elinewidth=0.7, capsize=2, label=label,
    )  # fmt: skip


def draw_single(axis, task):
    """The single device's score as a dashed line, where it is known."""
    alone = single_value(task)
    if np.isfinite(alone):
        axis.axhline(
            factor(task.metric) * alone, color=palette.SINGLE, linestyle="--", linewidth=1.2,
            label="single device",
        )  # fmt: skip


def _finish(axis, task, label):
    draw_single(axis, task)
    rows = task.grid()
    samples = int(rows.samples.min()) if len(rows) else 0
    axis.set_title(f"{task.name}, {samples} samples", fontsize=10)
    axis.set_xlabel(label)
    axis.set_ylabel(metric_name(task.metric))
    axis.grid(alpha=0.3)
    if not is_rising(task.metric):
        axis.invert_yaxis()  # upwards is better in every panel
