"""The figures of the TRACE reproduction, from frames of records (frame.py)."""

import numpy as np

from thinwire_analysis import palette
from thinwire_analysis.figures import panels

MIBPS_PER_MBPS = 1e6 / 2**20
K_SHADES = {1024: 1.0, 32: 0.8, 8: 0.62, 4: 0.46, 2: 0.3}


def draw_communication(formulas, path):
    """Communication time over the rate, log scale: one panel a number of devices (TRACE, Fig. 6)."""
    frame = formulas[(formulas.model == "vit-base-16") & formulas.formula_s.notna()]
    counts = sorted(frame.devices.unique())
    with panels(path, "ViT-B/16: communication time by formula", len(counts), share_y=True) as axes:
        for axis, devices in zip(axes, counts):
            _communication_panel(axis, frame[frame.devices == devices])
            axis.set_title(f"P = {devices} devices", fontsize=10)
        axes[0].set_ylabel("communication of one inference (ms)")


def _communication_panel(axis, frame):
    for label in frame.label.unique():
        curve = frame[frame.label == label].sort_values("rate_mbps")
        first = curve.iloc[0]
        axis.plot(
            curve.rate_mbps * MIBPS_PER_MBPS, 1e3 * curve.formula_s, label=label,
            color=palette.colour(first.strategy), alpha=K_SHADES.get(first.codewords, 1.0),
            marker=palette.marker(first.strategy), markersize=4, linewidth=1.3,
        )  # fmt: skip
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    ticks = [1, 2, 4, 8, 10, 20]
    axis.set_xticks(ticks, [str(tick) for tick in ticks])
    axis.set_xlabel("link rate (Mbps of 2^20 bit/s)")
    axis.grid(alpha=0.3)


def draw_compression(formulas, path):
    """Compression ratios over K (ViT, P = 2) and over K and P (ViViT): TRACE, Fig. 7 and 8."""
    with panels(path, "Compression ratio of TRACE", 2) as axes:
        vit = _levels(formulas, "vit-base-16")
        _ratio_bars(axes[0], {"P = 2": vit[vit.devices == 2]}, "ViT-B/16")
        vivit = _levels(formulas, "vivit-base-16x2")
        groups = {f"P = {p}": vivit[vivit.devices == p] for p in sorted(vivit.devices.unique())}
        _ratio_bars(axes[1], groups, "ViViT-B/16")


def _levels(formulas, model):
    chosen = (
        (formulas.model == model) & (formulas.strategy == "trace-b") & (formulas.buffers == "kv")
    )
    return formulas[chosen].drop_duplicates(["devices", "codewords"])


def _ratio_bars(axis, groups, title):
    width = 0.8 / len(groups)
    for index, (label, frame) in enumerate(groups.items()):
        ordered = frame.sort_values("codewords", ascending=False)
        places = np.arange(len(ordered)) + (index - (len(groups) - 1) / 2) * width
        axis.bar(places, ordered.compression_rate, width, label=label)
        axis.set_xticks(range(len(ordered)), [f"K = {k}" for k in ordered.codewords])
    axis.set_title(title, fontsize=10)
    axis.set_ylabel("uncompressed / compressed bits")
    axis.grid(axis="y", alpha=0.3)


def draw_breakdown(measured, rate_mbps, path):
    """Compute and waiting of the device that ends last, stacked (TRACE, Fig. 5 and Table IV)."""
    frame = measured[np.isclose(measured.rate_mbps, rate_mbps) & (measured.devices > 1)]
    counts = sorted(frame.devices.unique())
    title = f"ViT-B/16 at {rate_mbps * MIBPS_PER_MBPS:g} Mbps (2^20): latency, measured"
    with panels(path, title, len(counts)) as axes:
        for axis, devices in zip(axes, counts):
            _breakdown_panel(axis, frame[frame.devices == devices])
            axis.set_title(f"P = {devices} devices", fontsize=10)


def _breakdown_panel(axis, frame):
    compute, wait = 1e3 * frame.compute_p50_s, 1e3 * frame.wait_p50_s
    places = range(len(frame))
    axis.barh(places, compute, color=palette.COMPUTE, label="compute")
    axis.barh(places, wait, left=compute, color=palette.WAIT, label="waiting")
    most = (compute + wait)[frame.strategy != "voltage"].max()
    axis.set_xlim(0, 1.2 * most)  # voltage would hide the others: its bar is cut, and says so
    for place, (c, w) in enumerate(zip(compute, wait)):
        text = f"{c + w:.0f} ms" + (" (cut)" if c + w > 1.2 * most else "")
        axis.text(min(c + w + 0.01 * most, 1.01 * most), place, text, va="center", fontsize=7)
    axis.set_yticks(places, frame.label, fontsize=8)
    axis.invert_yaxis()
    axis.set_xlabel("latency of one inference (ms)")


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
    at_rate = frame[np.isclose(frame.rate_mbps, rate_mbps) & (frame.devices > 1)]
    single_ms = 1e3 * frame[frame.strategy == "single"].p50_s.iloc[0]
    names = ("broadcast", "unicast", "shared")
    title = f"ViT-B/16 at {rate_mbps:g} Mbps, devices of 160 GFLOP/s: latency, modelled"
    with panels(path, title, len(names), size=(3.6, 3.8), share_y=True) as axes:
        for axis, topology in zip(axes, names):
            part = at_rate[at_rate.topology == topology]
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
