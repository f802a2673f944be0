"""The slowest link on which splitting still beats one device, from what break_even.py found.

A record has its break-even rate as first and an unlimited link as second setting; one that never
wins has the unlimited link only.
"""

import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from thinwire_analysis import palette
from thinwire_analysis.accuracy_format import NONE
from thinwire_analysis.accuracy_frame import point_label
from thinwire_analysis.checks import Check
from thinwire_analysis.figures import panels
from thinwire_analysis.records import spec_of

FILE = "break-even.predicted"
# A rate is known to 1e-5, so that the time there is the single device's.
TIME_TOLERANCE = 1e-4
NEVER = "never"
# What is left of trace-b's and astra's frames is what changes; a first exchange in full does not.
SCALING = ("trace-b", "astra")
# Links that people have, for orientation (experiments/traces describes them).
KNOWN_LINKS = (("LoRa-like", 20e3), ("Zigbee", 250e3), ("LTE, Wi-Fi", 1e7))
MARKERS = {(2, "broadcast"): "o", (4, "broadcast"): "D", (4, "unicast"): "s"}
POINT = ["model", "label", "devices", "topology"]


def break_even_frame(records):
    """One row a split point.

    Columns: model, strategy, label, codewords (in use; 0: none), devices, topology, gflops, rate
    (bit/s; NaN: never wins),
    time_s there and unlimited_s (of an input), alone_s, speedup (on an unlimited link).
    """
    alone = {_alone_key(r): _times(r)[0] for r in records if _strategy(r) == "single"}
    rows = []
    for record in records:
        if _strategy(record) == "single":
            continue
        spec, times, alone_s = spec_of(record), _times(record), alone[_alone_key(record)]
        first = record["time"]["links"][0]["link"]
        rows.append(
            {
                "model": spec["model"],
                "strategy": spec["strategy"],
                "label": break_even_label(spec),
                "codewords": int(spec.get("active_codewords") or 0),
                "devices": int(spec["devices"]),
                "topology": first["topology"],
                "gflops": _gflops(spec),
                "rate": first["rate_bit_per_s"] if len(times) > 1 else np.nan,
                "time_s": times[0],
                "unlimited_s": times[-1],
                "alone_s": alone_s,
                "speedup": alone_s / times[-1],
            }
        )
    return pd.DataFrame(rows)


def break_even_label(spec):
    """The name of a configuration without its devices and link."""
    inputs = spec.get("micro_batches") or 1
    return point_label(spec) + (f", {inputs} inputs" if inputs > 1 else "")


def scaled(frame, ratios):
    """The frame with the finest points of trace-b and astra as they would be with coded frames.

    Times depend on bits over rate alone, so frames of a part of the bits break even at that part
    of the rate. ratios: {(family, strategy): (part, coding)} as measured on a model of the family
    """
    made = []
    finest = frame.codewords == frame.groupby("strategy").codewords.transform("max")
    for _, row in frame[frame.strategy.isin(SCALING) & finest].iterrows():
        found = ratios.get((family(row.model), row.strategy))
        if found:
            part, coding = found
            made.append({**row, "label": f"{row.label}, {coding}", "rate": row.rate * part})
    return pd.concat([frame, pd.DataFrame(made)], ignore_index=True) if made else frame


def family(model):
    """What kind of Transformer a model's name says."""
    kinds = {"vit": "vit", "bert": "bert", "minilm": "bert", "gpt2": "gpt2"}
    return next((kind for word, kind in kinds.items() if word in model.lower()), model)


def at_speed(frame, gflops):
    """The rows of one speed of the devices."""
    return frame[np.isclose(frame.gflops, gflops)]


def break_even_table(frame):
    """A row a strategy, a column a model, P and topology."""
    columns = frame[["model", "devices", "topology"]].drop_duplicates()
    made = []
    for label in _ordered(frame):
        entry = {"strategy": label}
        for model, devices, topology in columns.itertuples(index=False):
            if (devices, topology) not in MARKERS:
                continue  # two devices: unicast is broadcast
            row = frame[
                (frame.label == label) & (frame.model == model) & (frame.devices == devices)
                & (frame.topology == topology)
            ]  # fmt: skip
            name = f"{model}, P = {devices}" + (f" {topology}" if devices > 2 else "")
            entry[name] = bit_rate_text(row.rate.iloc[0]) if len(row) else NONE
        made.append(entry)
    return pd.DataFrame(made)


def bit_rate_text(rate):
    """`3.97 kbps`, `never`: a break-even rate for people."""
    if not np.isfinite(rate):
        return NEVER
    for size, unit in ((1e9, "Gbps"), (1e6, "Mbps"), (1e3, "kbps")):
        if rate >= size:
            return f"{rate / size:.3g} {unit}"
    return f"{rate:.3g} bps"


def draw_break_even(frame, title, sheet):
    """A panel a model, a row a strategy: the rate at which each P breaks even."""
    models = list(dict.fromkeys(frame.model))
    labels = _ordered(frame[frame.rate.notna()])[::-1]
    size = (4.8, 1.8 + 0.24 * len(labels))
    with panels(sheet, title, len(models), size=size, share_y=True) as axes:
        for axis, model in zip(axes, models):
            rows = frame[(frame.model == model) & frame.rate.notna()]
            axis.set_ylim(-0.6, len(labels) - 0.4)
            axis.set_xlim(0.5 * frame.rate.min(), 2 * frame.rate.max())
            for (devices, topology), marker in MARKERS.items():
                points = rows[(rows.devices == devices) & (rows.topology == topology)]
                axis.scatter(
                    points.rate, [labels.index(label) for label in points.label], marker=marker,
                    color=[palette.colour(s) for s in points.strategy], s=26, alpha=0.9, zorder=3,
                )  # fmt: skip
                name = f"P = {devices}" + (f", {topology}" if devices > 2 else "")
                axis.scatter([], [], marker=marker, color="#555555", s=26, label=name)
            for name, rate in KNOWN_LINKS:
                axis.axvline(rate, color="#b0b0b0", linewidth=0.9, linestyle=":")
                axis.annotate(
                    name, (rate, len(labels) - 0.35), fontsize=6.5, color="#555555", ha="center",
                    va="bottom", annotation_clip=False,
                )  # fmt: skip
            axis.set_xscale("log")
            axis.xaxis.set_major_locator(LogLocator(numticks=12))
            axis.xaxis.set_major_formatter(FuncFormatter(_decade))
            axis.xaxis.set_minor_locator(NullLocator())
            axis.set_yticks(range(len(labels)), labels, fontsize=8)
            axis.set_xlabel("slowest link that is worth the split (bit/s)")
            axis.set_title(model, fontsize=10, pad=14)
            axis.grid(axis="y", linewidth=0.4, alpha=0.5)


def _decade(rate, _position):
    """`10k`: seven decades have no room for whole numbers."""
    size, unit = next((s, u) for s, u in ((1e9, "G"), (1e6, "M"), (1e3, "k"), (0, "")) if rate >= s)
    return f"{rate / (size or 1):g}{unit}"


def check_times_meet(frame):
    """At the rate found a split takes the single device's time."""
    won = frame[frame.rate.notna()]
    apart = (won.time_s / won.alone_s - 1).abs()
    return Check(
        "at the break-even rate the split takes the single device's time",
        bool(len(won)) and bool((apart <= TIME_TOLERANCE).all()),
        f"{len(won)} points, at most {apart.max():.1e} apart" if len(won) else "no point",
    )


def check_proportional(frame):
    """Without a latency a message, twice as fast devices need twice as fast a link."""
    speeds = sorted(frame.gflops.unique())
    slow = at_speed(frame, speeds[0]).set_index(POINT).rate / speeds[0]
    apart = [
        (at_speed(frame, speed).set_index(POINT).rate / speed / slow - 1).abs().max()
        for speed in speeds[1:]
    ]
    return Check(
        "break-even rates are in proportion to the devices' speed",
        bool(apart) and max(apart) <= TIME_TOLERANCE,
        f"{', '.join(f'{speed:g}' for speed in speeds)} GFLOP/s, at most "
        f"{max(apart, default=np.nan):.1e} apart",
    )


def _ordered(frame):
    """Labels by strategy as the palette has them, in the order of the records within one."""
    rank = {name: place for place, name in enumerate(palette.COLOURS)}
    labels = frame[["strategy", "label"]].drop_duplicates()
    return list(
        labels.sort_values("strategy", key=lambda s: s.map(rank).fillna(99), kind="stable").label
    )


def _strategy(record):
    return record["spec"]["strategy"]


def _times(record):
    """Seconds of one input at each link setting."""
    inputs = spec_of(record).get("micro_batches") or 1
    return [link["latency_s"]["p50"] / inputs for link in record["time"]["links"]]


def _gflops(spec):
    given = spec["device_gflops"]
    return float(given[0] if isinstance(given, list) else given)


def _alone_key(record):
    spec = spec_of(record)
    return spec["model"], spec.get("tokens"), _gflops(spec), spec.get("dtype")
