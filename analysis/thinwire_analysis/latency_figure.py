"""Latency over the link's rate: bars or curves, one panel a number of devices."""

import numpy as np

from thinwire_analysis import palette
from thinwire_analysis.figures import ERROR_BAR, panels, use_log_scale
from thinwire_analysis.latency import single_latency_s
from thinwire_analysis.rates import rate_unit

SINGLE_COLOUR = palette.SINGLE
LATENCY_LABEL = "latency of one inference (ms)"


def draw_latency(frame, published, title, path, *, log=False):
    """Medians with p10-p90 bands over the link's rate, P from left to right.

    A star is a published cut (PublishedLatency or None), taken from this figure's own single
    device. `log`: both axes, for times that differ by orders of magnitude.
    """
    counts = split_counts(frame)
    styles = palette.curve_styles(frame)
    with panels(path, title, len(counts), size=(4.6, 4.0), share_y=True) as axes:
        for axis, devices in zip(axes, counts):
            _draw_single(axis, frame)
            _draw_curves(axis, frame[frame.devices == devices], styles)
            _draw_published(axis, frame, published, devices)
            axis.set_title(f"P = {devices} devices", fontsize=10)
            axis.set_xlabel("link rate (Mbps)")
            axis.grid(alpha=0.3)
        for axis in axes:  # shared, so only after every panel has its curves
            if log:
                use_log_scale(axis, "x")
                use_log_scale(axis, "y")
            else:
                axis.set_ylim(bottom=0)
        axes[0].set_ylabel(LATENCY_LABEL)


def draw_latency_bars(frame, published, title, path):
    """The same as groups of bars, a group a rate: height the median, error bars p10-p90."""
    counts = split_counts(frame)
    styles = palette.curve_styles(frame[frame.strategy != "single"])
    rates = np.sort(frame.rate_mbps.unique())
    factor, unit = rate_unit(rates)
    with panels(path, title, len(counts), size=(4.6, 4.0), share_y=True) as axes:
        for axis, devices in zip(axes, counts):
            _draw_single(axis, frame)
            _draw_bars(axis, frame[frame.devices == devices], styles, rates)
            if published is not None and published.rate_mbps in rates:
                place = int(np.flatnonzero(rates == published.rate_mbps)[0])
                _draw_published(axis, frame, published, devices, place)
            names = [f"{rate * factor:.3g}" if rate < 1e3 else f"{rate:g}" for rate in rates]
            axis.set_xticks(range(len(rates)), names, rotation=_rotation(axis, names))
            axis.set_title(f"P = {devices} devices", fontsize=10)
            axis.set_xlabel(f"link rate ({unit})")
            axis.grid(axis="y", alpha=0.3)
        axes[0].set_ylabel(LATENCY_LABEL)


def _rotation(axis, names):
    """Names of bars stand upright where they would run into each other."""
    inches = axis.get_position().width * axis.figure.get_figwidth()
    return 90 if len(names) * (max(map(len, names)) + 1) * 0.085 > inches else 0


def split_counts(frame):
    """The numbers of devices of which a figure draws a panel each."""
    return sorted(int(p) for p in frame[frame.strategy != "single"].devices.unique())


def _draw_single(axis, frame):
    if (frame.strategy == "single").any():
        axis.axhline(
            1e3 * single_latency_s(frame), color=SINGLE_COLOUR, linestyle="--", linewidth=1.3,
            label="single device",
        )  # fmt: skip


def _draw_curves(axis, frame, styles):
    for label, style in styles.items():
        curve = frame[(frame.label == label) & (frame.strategy != "single")]
        curve = curve.sort_values("rate_mbps")
        if curve.empty:
            continue
        axis.plot(
            curve.rate_mbps, 1e3 * curve.p50_s, color=style.colour, alpha=style.alpha,
            marker=style.marker if len(curve) <= 20 else None, markersize=4, linewidth=1.5,
            label=label,
        )  # fmt: skip
        if (curve.p90_s > curve.p10_s).any():
            axis.fill_between(
                curve.rate_mbps, 1e3 * curve.p10_s, 1e3 * curve.p90_s, color=style.colour,
                alpha=0.2, linewidth=0,
            )  # fmt: skip


def _draw_bars(axis, frame, styles, rates):
    shown = {label: style for label, style in styles.items() if label in set(frame.label)}
    width = 0.84 / max(1, len(shown))
    for index, (label, style) in enumerate(shown.items()):
        bars = frame[frame.label == label].set_index("rate_mbps").reindex(rates)
        places = np.arange(len(rates)) + (index - (len(shown) - 1) / 2) * width
        height = 1e3 * bars.p50_s
        axis.bar(places, height, width, color=style.colour, alpha=style.alpha, label=label)
        reach = [height - 1e3 * bars.p10_s, 1e3 * bars.p90_s - height]
        if np.nanmax(reach) > 0:
            axis.errorbar(places, height.to_numpy(), np.clip(reach, 0, None).tolist(), linestyle="none", **ERROR_BAR)


def _draw_published(axis, frame, published, devices, place=None):
    """Stars at the published cuts of this panel; `place` on an axis of rates' numbers."""
    if published is None or not (frame.strategy == "single").any():
        return
    segments_shown = frame[(frame.strategy == "prism") & (frame.devices == devices)].segments
    for (count, segments), cut in published.cuts.items():
        if count != devices or segments not in set(segments_shown):
            continue
        axis.plot(
            published.rate_mbps if place is None else place,
            1e3 * single_latency_s(frame) * (1 - cut / 100), marker="*", markersize=13,
            color="#F0E442", markeredgecolor=SINGLE_COLOUR, linestyle="none", zorder=5,
            label=f"published cut at {published.rate_mbps:g} Mbps, L = {segments}",
        )  # fmt: skip
