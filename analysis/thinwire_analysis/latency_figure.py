"""The latency-versus-bandwidth figure: one panel a number of devices."""

from thinwire_analysis import palette
from thinwire_analysis.figures import panels
from thinwire_analysis.latency import single_latency_s

SINGLE_COLOUR = palette.SINGLE
VOLTAGE_COLOUR = palette.colour("voltage")
PRISM_COLOURS = ("#0072B2", "#56B4E9", "#009E73", "#CC79A7")
MARKERS = ("o", "^", "D", "v")


def draw_latency(frame, published, title, path):
    """Writes a PNG: medians with p10-p90 bands over the link's rate, P from left to right.

    A star is a published cut, taken from this figure's own single device.
    """
    counts = sorted(int(p) for p in frame[frame.strategy != "single"].devices.unique())
    with panels(path, title, len(counts), size=(4.6, 4.0), share_y=True) as axes:
        for axis, devices in zip(axes, counts):
            _draw_panel(axis, frame, published, devices)
        axes[0].set_ylim(bottom=0)  # shared, so only after every panel has its curves
        axes[0].set_ylabel("latency of one inference (ms)")


def _draw_panel(axis, frame, published, devices):
    single_ms = 1e3 * single_latency_s(frame)
    axis.axhline(
        single_ms, color=SINGLE_COLOUR, linestyle="--", linewidth=1.3, label="single device"
    )
    _draw_curve(axis, _curve(frame, "voltage", devices, 0), VOLTAGE_COLOUR, "s", "voltage")
    prism = frame[(frame.strategy == "prism") & (frame.devices == devices)]
    for index, segments in enumerate(sorted(prism.segments.unique())):
        style = index % len(PRISM_COLOURS)
        curve = _curve(frame, "prism", devices, segments)
        _draw_curve(axis, curve, PRISM_COLOURS[style], MARKERS[style], f"prism, L = {segments}")
        _draw_published(axis, published, (devices, segments), single_ms)
    axis.set_title(f"P = {devices} devices", fontsize=10)
    axis.set_xlabel("link rate (Mbps)")
    axis.grid(alpha=0.3)


def _curve(frame, strategy, devices, segments):
    chosen = (
        (frame.strategy == strategy) & (frame.devices == devices) & (frame.segments == segments)
    )
    return frame[chosen].sort_values("rate_mbps")


def _draw_curve(axis, curve, colour, marker, label):
    if curve.empty:
        return
    axis.plot(
        curve.rate_mbps, 1e3 * curve.p50_s, color=colour, marker=marker, markersize=4,
        linewidth=1.5, label=label,
    )  # fmt: skip
    if (curve.p90_s > curve.p10_s).any():
        axis.fill_between(
            curve.rate_mbps, 1e3 * curve.p10_s, 1e3 * curve.p90_s, color=colour, alpha=0.2,
            linewidth=0,
        )  # fmt: skip


def _draw_published(axis, published, point, single_ms):
    cut = published.cuts.get(point)
    if cut is None:
        return
    axis.plot(
        published.rate_mbps, single_ms * (1 - cut / 100), marker="*", markersize=13,
        color="#F0E442", markeredgecolor=SINGLE_COLOUR, linestyle="none", zorder=5,
        label=f"published cut at {published.rate_mbps:g} Mbps, L = {point[1]}",
    )  # fmt: skip
