"""The figures of the TRACE reproduction, from frames of records (frame.py)."""

import numpy as np

from thinwire_analysis import palette
from thinwire_analysis.figures import ERROR_BAR, panels, use_log_scale
from thinwire_analysis.rates import at_rate, rate_unit


def draw_communication(formulas, title, path):
    """Communication time over the rate, log scale: one panel a number of devices (TRACE, Fig. 6)."""
    frame = formulas[formulas.formula_s.notna() & (formulas.devices > 1)]
    counts = sorted(frame.devices.unique())
    styles = palette.curve_styles(frame)
    factor, unit = rate_unit(frame.rate_mbps.unique())
    with panels(path, title, len(counts), share_y=True) as axes:
        for axis, devices in zip(axes, counts):
            _communication_panel(axis, frame[frame.devices == devices], styles, factor)
            axis.set_title(f"P = {devices} devices", fontsize=10)
            axis.set_xlabel(f"link rate ({unit})")
        axes[0].set_ylabel("communication of one inference (ms)")


def _communication_panel(axis, frame, styles, factor):
    for label, style in styles.items():
        curve = frame[frame.label == label].sort_values("rate_mbps")
        if not curve.empty:
            axis.plot(
                curve.rate_mbps * factor, 1e3 * curve.formula_s, label=label, color=style.colour,
                alpha=style.alpha, marker=style.marker, markersize=4, linewidth=1.3,
            )  # fmt: skip
    use_log_scale(axis, "x")
    use_log_scale(axis, "y")
    axis.grid(alpha=0.3)


def draw_compression(formulas, title, path):
    """Compression ratios over K and P of trace-b, a panel a model (TRACE, Fig. 7 and 8)."""
    levels = compression_levels(formulas)
    models = list(levels.model.unique())
    with panels(path, title, len(models)) as axes:
        for axis, model in zip(axes, models):
            chosen = levels[levels.model == model]
            groups = {f"P = {p}": chosen[chosen.devices == p] for p in sorted(chosen.devices.unique())}
            _ratio_bars(axis, groups, sorted(chosen.codewords.unique(), reverse=True), model)


def compression_levels(formulas):
    """The rows of draw_compression: trace-b with its key and value buffers, one a model, P and K."""
    chosen = (formulas.strategy == "trace-b") & (formulas.buffers == "kv") & (formulas.devices > 1)
    return formulas[chosen].drop_duplicates(["model", "devices", "codewords"])


def _ratio_bars(axis, groups, levels, title):
    width = 0.8 / len(groups)
    for index, (label, frame) in enumerate(groups.items()):
        ratios = frame.set_index("codewords").compression_rate.reindex(levels)
        places = np.arange(len(levels)) + (index - (len(groups) - 1) / 2) * width
        colour = palette.VARIANT_COLOURS[index % len(palette.VARIANT_COLOURS)]
        axis.bar(places, ratios, width, label=label, color=colour)
    axis.set_xticks(range(len(levels)), [f"{k}" for k in levels])
    axis.set_xlabel("K (codewords in use)")
    axis.set_title(title, fontsize=10)
    axis.set_ylabel("uncompressed / compressed bits")
    axis.grid(axis="y", alpha=0.3)


def draw_breakdown(frame, rate_mbps, title, path):
    """Compute and waiting of the device that ends last, stacked (TRACE, Fig. 5 and Table IV).

    Error bars: p10-p90 of the latency. Below each bar, where there is any: the transfer time that
    local work hides.
    """
    frame = at_rate(frame, rate_mbps)
    frame = frame[frame.devices > 1]
    counts = sorted(frame.devices.unique())
    rows = max(frame.groupby("devices").size(), default=1)
    with panels(path, title, len(counts), size=(4.6, 1.4 + 0.28 * rows)) as axes:
        for axis, devices in zip(axes, counts):
            _breakdown_panel(axis, frame[frame.devices == devices])
            axis.set_title(f"P = {devices} devices", fontsize=10)


def _breakdown_panel(axis, frame):
    compute, wait = 1e3 * frame.compute_p50_s, 1e3 * frame.wait_p50_s
    places = np.arange(len(frame))
    axis.barh(places, compute, 0.6, color=palette.COMPUTE, label="compute")
    axis.barh(places, wait, 0.6, left=compute, color=palette.WAIT, label="waiting")
    hidden = 1e3 * frame.hidden_p50_s.fillna(0)
    if hidden.max() > 0:
        axis.barh(places + 0.38, hidden, 0.16, color=palette.HIDDEN, label="hidden transfer")
    low, middle, high = (1e3 * frame[name] for name in ("p10_s", "p50_s", "p90_s"))
    ends = np.maximum(compute + wait, high)
    most = _longest_shown(ends.to_numpy())
    axis.set_xlim(0, 1.35 * most)
    if (high > low).any():
        axis.errorbar(
            middle.to_numpy(), places, xerr=[(middle - low).tolist(), (high - middle).tolist()],
            linestyle="none", **ERROR_BAR,
        )  # fmt: skip
    for place, (total, end) in enumerate(zip(compute + wait, ends)):
        style = {"va": "center", "fontsize": 7}
        text = f"{total:.4g} ms" if total < 1000 else f"{total:.0f} ms"
        if end > 1.3 * most:
            axis.text(1.33 * most, place, f"{text} (cut)", color="white", ha="right", **style)
        else:
            axis.text(end + 0.015 * most, place, text, **style)
    axis.set_yticks(places, frame.label, fontsize=8)
    axis.invert_yaxis()
    axis.set_xlabel("latency of one inference (ms)")


def _longest_shown(totals):
    """The bar that sets the scale: one that would dwarf the others (voltage) is cut, and says so."""
    ordered = np.sort(totals)
    while len(ordered) > 2 and ordered[-1] > 4 * np.median(totals):
        ordered = ordered[:-1]
    return ordered[-1]


def draw_buffers(frame, path):
    """Compute of a ViViT device with and without buffers, over the devices (TRACE, Table V)."""
    counts = sorted(frame.devices.unique())
    styles = {"kv": palette.colour("trace-b"), "hidden": "#56B4E9", "off": palette.WAIT}
    with panels(path, "ViViT-B/16, K = 1024: compute of a device, measured", 1, size=(7, 3.8)) as (axis,):
        for index, (buffers, colour) in enumerate(styles.items()):
            part = frame[frame.buffers == buffers].set_index("devices").reindex(counts)
            places = np.arange(len(counts)) + (index - 1) * 0.27
            axis.bar(places, part.compute_p50_s, 0.27, color=colour, label=f"buffers = {buffers}")
        axis.set_xticks(range(len(counts)), [f"P = {p}" for p in counts])
        axis.set_ylabel("compute of the slowest device (s)")
        axis.grid(axis="y", alpha=0.3)


def draw_topologies(frame, rate_mbps, path):
    """Latency under the three ways in which messages share a medium, modelled."""
    chosen_rate = at_rate(frame, rate_mbps)
    split = chosen_rate[chosen_rate.devices > 1]
    single_ms = 1e3 * frame[frame.strategy == "single"].p50_s.iloc[0]
    names = ("broadcast", "unicast", "shared")
    title = f"ViT-B/16 at {rate_mbps:g} Mbps, devices of 160 GFLOP/s: latency, modelled"
    with panels(path, title, len(names), size=(3.6, 3.8), share_y=True) as axes:
        for axis, topology in zip(axes, names):
            part = split[split.topology == topology]
            axis.axhline(single_ms, color=palette.SINGLE, linestyle="--", label="single device")
            for label in part.label.unique():
                curve = part[part.label == label].sort_values("devices")
                strategy = curve.strategy.iloc[0]
                axis.plot(
                    curve.devices, 1e3 * curve.p50_s, label=label, marker=palette.marker(strategy),
                    color=palette.colour(strategy),
                )  # fmt: skip
            axis.set_title(topology, fontsize=10)
            axis.set_xlabel("devices")
            axis.set_yscale("log")
            axis.grid(alpha=0.3)
        axes[0].set_ylabel("latency of one inference (ms)")


def draw_tensor(frame, devices, path):
    """Tensor parallelism against Voltage and one device over the rate, a panel a model."""
    models = list(frame.model.unique())
    title = f"P = {devices} devices of 160 GFLOP/s, unicast: latency, modelled"
    with panels(path, title, len(models), size=(3.8, 3.8)) as axes:
        for axis, model in zip(axes, models):
            part = frame[frame.model == model]
            single_ms = 1e3 * part[part.strategy == "single"].p50_s.iloc[0]
            axis.axhline(single_ms, color=palette.SINGLE, linestyle="--", label="single device")
            for strategy in ("voltage", "tensor"):
                chosen = (part.strategy == strategy) & (part.devices == devices)
                curve = part[chosen].sort_values("rate_mbps")
                axis.plot(
                    curve.rate_mbps, 1e3 * curve.p50_s, label=strategy,
                    color=palette.colour(strategy),
                )  # fmt: skip
            axis.axvline(1000, color="#999999", linewidth=0.8)
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.set_title(model, fontsize=10)
            axis.set_xlabel("link rate (Mbps)")
            axis.grid(alpha=0.3)
        axes[0].set_ylabel("latency of one inference (ms)")
