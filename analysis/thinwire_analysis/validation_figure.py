"""The error of every medium against the formula, over the payload."""

from thinwire_analysis import palette
from thinwire_analysis.figures import panels
from thinwire_analysis.validation_checks import CLEAR_S

MARKERS = {2: "o", 3: "^", 4: "s"}
LINEAR_PERCENT = 10  # the axis is linear up to here, logarithmic beyond
ALLOWED_PERCENT = 5


def draw_errors(links, media, path):
    """Writes a PNG: a panel a medium, errors of the medians in percent over payload bytes.

    Colours are rates, markers numbers of devices; filled where the formula is above CLEAR_S.
    """
    shown = [medium for medium in media if (links.medium == medium).any()]
    title = "All-gather, median time against the link model with TCP's overhead"
    with panels(path, title, len(shown), size=(3.4, 4.0), share_y=True) as axes:
        for axis, medium in zip(axes, shown):
            _draw_panel(axis, links[links.medium == medium], sorted(links.rate_mbps.unique()))
            axis.set_title(media[medium], fontsize=10)
        axes[0].set_ylabel("error (%)")


def _draw_panel(axis, rows, rates):
    axis.axhspan(-ALLOWED_PERCENT, ALLOWED_PERCENT, color="#999999", alpha=0.2, linewidth=0)
    for rate in rates:
        colour = palette.SERIES[rates.index(rate) % len(palette.SERIES)]
        axis.plot([], [], color=colour, marker=".", linestyle="none", label=f"{rate:g} Mbps")
    for (devices, rate), group in rows.groupby(["devices", "rate_mbps"]):
        colour = palette.SERIES[rates.index(rate) % len(palette.SERIES)]
        for is_clear, points in group.groupby(group.formula_s > CLEAR_S):
            axis.plot(
                points.bytes, 100 * points.error, linestyle="none", markersize=5,
                marker=MARKERS.get(devices, "D"), color=colour,
                markerfacecolor=colour if is_clear else "none",
            )  # fmt: skip
    for devices in sorted(rows.devices.unique()):
        axis.plot([], [], color=palette.SINGLE, marker=MARKERS.get(devices, "D"), linestyle="none",
                  label=f"P = {devices}")  # fmt: skip
    axis.plot([], [], color=palette.SINGLE, marker="o", linestyle="none", markerfacecolor="none",
              label=f"formula below {1e3 * CLEAR_S:g} ms")  # fmt: skip
    axis.set_xscale("log")
    axis.set_yscale("symlog", linthresh=LINEAR_PERCENT)
    axis.set_xlabel("payload of a device (bytes)")
    axis.grid(alpha=0.3)
