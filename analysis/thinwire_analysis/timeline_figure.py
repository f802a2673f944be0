"""One layer's timeline of several strategies, from the files of `thinwire run --trace`."""

import json
from pathlib import Path

from thinwire_analysis import palette
from thinwire_analysis.errors import InputError
from thinwire_analysis.figures import panels

COLOURS = {"compute": palette.COMPUTE, "wait": palette.WAIT, "transfer": palette.TRANSFER}
LABELS = {"compute": "compute", "wait": "waiting", "transfer": "on the link"}


def load_events(path, link=0):
    """The bars of one link setting: dicts with name, cat, tid, ts, dur (microseconds) and layer."""
    try:
        events = json.loads(Path(path).read_text(encoding="utf-8"))["traceEvents"]
        bars = [e for e in events if e["ph"] == "X" and e["pid"] == link]
        return [{**bar, "layer": bar["args"]["layer"]} for bar in bars]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{path}: no timeline ({error!r})") from error


def layer_window(events, layer):
    """Start and end (microseconds) of a block: from its first to its last compute or wait."""
    bars = [e for e in events if e["layer"] == layer and e["cat"] != "transfer"]
    if not bars:
        raise InputError(f"no event of layer {layer} in the timeline")
    return min(e["ts"] for e in bars), max(e["ts"] + e["dur"] for e in bars)


def draw_timelines(named_events, layer, title, path):
    """One panel a strategy, two lanes a device (what it does, what it sends) (TRACE, Fig. 3)."""
    with panels(path, title, len(named_events), size=(4.2, 3.2)) as axes:
        for axis, (name, events) in zip(axes, named_events.items()):
            _draw_panel(axis, events, layer_window(events, layer))
            axis.set_title(name, fontsize=10)
        for kind, colour in COLOURS.items():
            axes[0].bar(0, 0, color=colour, label=LABELS[kind])  # for the legend alone


def _draw_panel(axis, events, window):
    start, end = window
    lanes = sorted({e["tid"] for e in events})
    for event in events:
        first = max(event["ts"], start)
        last = min(event["ts"] + event["dur"], end)
        if last <= first:
            continue
        axis.broken_barh(
            [((first - start) / 1e3, (last - first) / 1e3)], (lanes.index(event["tid"]) - 0.4, 0.8),
            facecolors=COLOURS[event["cat"]], edgecolor="white", linewidth=0.3,
        )  # fmt: skip
        if event["cat"] == "compute" and last - first > 0.12 * (end - start):
            middle = ((first + last) / 2 - start) / 1e3
            axis.text(
                middle, lanes.index(event["tid"]), event["name"], ha="center", va="center",
                fontsize=7, color="white",
            )  # fmt: skip
    names = [f"device {t // 2}" + (" sends" if t % 2 else "") for t in lanes]
    axis.set_yticks(range(len(lanes)), names, fontsize=8)
    axis.invert_yaxis()
    axis.set_xlim(0, (end - start) / 1e3)
    axis.set_xlabel("ms from the block's start")
