"""The figure of the scale study: latency over the number of devices, one panel a link rate."""

from thinwire_analysis import palette
from thinwire_analysis.figures import panels

# Beyond the single device's time nothing is gained; the axis ends a little above.
MOST_OF_SINGLE, LEAST_OF_BEST = 20.0, 0.5


def draw_scale(frame, path):
    """Writes a PNG of one model's rows; a ring marks each curve's least latency."""
    rates = sorted(frame.rate_mbps.unique())
    single_ms = 1e3 * float(frame[frame.strategy == "single"].p50_s.median())
    model, tokens = frame.model.iloc[0], frame.tokens.iloc[0]
    title = f"{model}, {tokens} tokens: predicted latency over the number of devices"
    with panels(path, title, len(rates), share_y=True) as axes:
        for axis, rate in zip(axes, rates):
            _draw_rate(axis, frame[frame.rate_mbps == rate], single_ms)
            axis.set_title(f"{rate:g} Mbps, {frame.topology.iloc[0]}", fontsize=10)
            axis.set_xlabel("devices P")
        axes[0].set_ylabel("latency of one inference (ms)")
        least_ms = 1e3 * float(frame.p50_s.min())
        axes[0].set_ylim(LEAST_OF_BEST * least_ms, MOST_OF_SINGLE * single_ms)


def _draw_rate(axis, frame, single_ms):
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.axhline(single_ms, color=palette.SINGLE, linestyle="--", linewidth=1, label="single device")
    for strategy in dict.fromkeys(frame.strategy):
        if strategy == "single":
            continue
        curve = frame[frame.strategy == strategy].sort_values("devices")
        colour = palette.colour(strategy)
        axis.plot(
            curve.devices, 1e3 * curve.p50_s, color=colour, marker=palette.marker(strategy),
            markersize=3.5, linewidth=1.3, label=strategy,
        )  # fmt: skip
        best = curve.loc[curve.p50_s.idxmin()]
        axis.plot(
            best.devices, 1e3 * best.p50_s, marker="o", markersize=10, markerfacecolor="none",
            markeredgecolor=colour, linestyle="none",
        )  # fmt: skip
    axis.grid(True, which="major", linewidth=0.4, alpha=0.5)
