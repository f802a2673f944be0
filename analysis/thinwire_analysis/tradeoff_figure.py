"""What compression buys and costs: speed-up and accuracy over the compression ratio."""

from thinwire_analysis import palette
from thinwire_analysis.figures import panels, use_log_scale
from thinwire_analysis.latency import single_latency_s
from thinwire_analysis.rates import at_rate, rate_text

RATIO_LABEL = "compression ratio"
COUNT_MARKERS = "osD^vP*X"


def draw_speedup(frame, rates_mbps, title, path):
    """Single device's latency over the split's, over the compression ratio: a panel a rate.

    Points are medians; bars set the split's 10th and 90th percentile against the single device's
    median. NaN among `rates_mbps` is an unlimited link.
    """
    single_s = single_latency_s(frame)
    counts = sorted(frame.devices.unique())
    with panels(path, title, len(rates_mbps), size=(4.6, 4.0), share_y=True) as axes:
        for axis, rate_mbps in zip(axes, rates_mbps):
            axis.axhline(1, color=palette.SINGLE, linestyle="--", linewidth=1.3, label="single device")
            chosen = at_rate(frame, rate_mbps)
            for curve, style in _curves(chosen, counts):
                speedup = single_s / curve.p50_s
                reach = [speedup - single_s / curve.p90_s, single_s / curve.p10_s - speedup]
                _draw(axis, curve, speedup, reach, style)
            use_log_scale(axis, "x")
            rate = rate_text(rate_mbps)
            axis.set_title(f"{rate} link" if rate == "unlimited" else rate, fontsize=10)
        axes[0].set_ylabel("speed-up over the single device")
        _name(axes[0], frame, counts)


def draw_accuracy(frame, title, path):
    """Accuracy with its 95 % interval over the compression ratio, a panel a metric."""
    metrics = sorted(frame.metric.dropna().unique())
    counts = sorted(frame.devices.unique())
    with panels(path, title, len(metrics), size=(4.6, 4.0)) as axes:
        for axis, metric in zip(axes, metrics):
            scored = frame[frame.metric == metric].drop_duplicates(["label", "devices"])
            _draw_single(axis, scored)
            for curve, style in _curves(scored, counts):
                value = curve.accuracy
                reach = [value - curve.accuracy_low, curve.accuracy_high - value]
                _draw(axis, curve, value, reach, style)
            use_log_scale(axis, "x")
            axis.set_title(metric, fontsize=10)
            axis.set_ylabel(metric)
        _name(axes[0], frame, counts)


def _draw_single(axis, frame):
    """The single device's accuracy as a line, if the frame has it."""
    single = frame[frame.strategy == "single"]
    if not single.empty:
        axis.axhline(
            float(single.accuracy.iloc[0]), color=palette.SINGLE, linestyle="--",
            linewidth=1.3, label="single device",
        )  # fmt: skip


def draw_accuracy_over_bits(frame, title, path):
    """Accuracy with its 95 % interval over the bits that all devices send, one metric."""
    counts = sorted(frame.devices.unique())
    with panels(path, title, 1, size=(7, 4.4)) as (axis,):
        _draw_single(axis, frame)
        split = frame[(frame.strategy != "single") & (frame.sent_bits > 0)]
        for (strategy, devices), points in split.groupby(["strategy", "devices"], sort=False):
            reach = [points.accuracy - points.accuracy_low, points.accuracy_high - points.accuracy]
            axis.errorbar(
                points.sent_bits.to_numpy(), points.accuracy.to_numpy(),
                [part.clip(lower=0).tolist() for part in reach], linestyle="none",
                color=palette.colour(strategy), marker=_marker(devices, counts), markersize=5,
                elinewidth=0.8, capsize=2,
            )  # fmt: skip
        use_log_scale(axis, "x")
        axis.set_xlabel("bits sent by all devices in one inference")
        axis.set_ylabel(frame.metric.iloc[0].replace("_", " "))
        axis.grid(alpha=0.3)
        _name(axis, split.assign(compression_rate=1.0), counts)


def _curves(frame, counts):
    """(points by falling bits, Style) of each strategy and P; the marker tells P apart."""
    split = frame[(frame.strategy != "single") & (frame.compression_rate > 0)]
    for (strategy, devices), curve in split.groupby(["strategy", "devices"], sort=False):
        style = palette.Style(palette.colour(strategy), 1.0, _marker(devices, counts))
        yield curve.sort_values("compression_rate"), style


def _marker(devices, counts):
    return COUNT_MARKERS[counts.index(devices) % len(COUNT_MARKERS)]


def _draw(axis, curve, value, reach, style):
    axis.errorbar(
        curve.compression_rate.to_numpy(), value.to_numpy(),
        [part.clip(lower=0).tolist() for part in reach], color=style.colour,
        marker=style.marker, markersize=5, linewidth=1.0, elinewidth=0.8, capsize=2,
        linestyle="-" if curve.compression_rate.is_unique else "none",
    )  # fmt: skip
    axis.set_xlabel(RATIO_LABEL)
    axis.grid(alpha=0.3)


def _name(axis, frame, counts):
    """The legend: a colour a strategy, a marker a number of devices."""
    split = frame[(frame.strategy != "single") & (frame.compression_rate > 0)]
    for strategy in split.strategy.unique():
        axis.plot([], [], color=palette.colour(strategy), label=strategy)
    for devices in sorted(split.devices.unique()):
        axis.plot(
            [], [], color="#555555", marker=_marker(devices, counts), linestyle="none",
            label=f"P = {devices}",
        )  # fmt: skip
