"""Which figures a folder's records fill: each a function from records to a Figure, or None."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from thinwire_analysis.html_report.groups import (
    formula_groups,
    name_by_formula,
    name_curves,
    scored_groups,
    timed_groups,
)
from thinwire_analysis.latency_figure import draw_latency, draw_latency_bars, split_counts
from thinwire_analysis.rates import rate_text, reference_rate
from thinwire_analysis.timeline_figure import draw_timelines, load_events
from thinwire_analysis.trace_figures import (
    compression_levels,
    draw_breakdown,
    draw_communication,
    draw_compression,
)
from thinwire_analysis.tradeoff_figure import draw_accuracy, draw_accuracy_over_bits, draw_speedup

MOST_PANELS = 6
MOST_BARS = 50  # a panel; more are drawn as curves
# A linear axis shows times this far apart; beyond it, curves on logarithmic axes.
LINEAR_SPAN = 12


@dataclass(frozen=True)
class Figure:
    """kind: one word for file names   draw: puts the figure onto a Sheet   data: what it shows"""

    kind: str
    title: str
    caption: str
    draw: Callable
    data: pd.DataFrame


def folder_figures(folder, published):
    """The figures of a folder, by kind. published: PublishedLatency, or None"""
    done = [record for record in folder.records if record["status"] == "ok"]
    timed, by_formula = timed_groups(done), formula_groups(done)
    found = [latency_figure(group, published) for group in timed]
    found += [speedup_figure(group) for group in timed]
    scored = scored_groups(done)
    found += [accuracy_figure(group) for group in scored]
    found += [bits_figure(group) for group in scored]
    found += [communication_figure(group) for group in by_formula]
    found += [breakdown_figure(group) for group in timed]
    found += [compression_figure(done), timeline_figure(folder.timelines)]
    return [figure for figure in found if figure is not None]


def latency_figure(group, published):
    """Latency over the link's rate, where at least two rates were set."""
    frame = name_curves(group.frame[np.isfinite(group.frame.rate_mbps)])
    if frame.rate_mbps.nunique() < 2 or not split_counts(frame):
        return None
    frame, left_out = _fewer_panels(frame)
    published = published if _fits_published(frame) else None
    split = frame[frame.strategy != "single"]
    bars = split.rate_mbps.nunique() * split.groupby("devices").label.nunique().max()
    if frame.p50_s.max() > LINEAR_SPAN * frame.p50_s.min():
        form = "curves on logarithmic axes, as the latencies lie far apart"
        draw = lambda sheet: draw_latency(frame, published, group.title, sheet, log=True)  # noqa: E731
    elif bars > MOST_BARS:
        form = "curves"
        draw = lambda sheet: draw_latency(frame, published, group.title, sheet)  # noqa: E731
    else:
        form = "bars"
        draw = lambda sheet: draw_latency_bars(frame, published, group.title, sheet)  # noqa: E731
    star = " The star is the published cut, taken from this figure's single device." * bool(
        published is not None and published.cuts
    )
    return Figure(
        "latency", f"Latency over the link's rate: {group.title}",
        f"Median latency of one inference ({form}); {spread_text(frame)}.{star}{left_out}",
        draw, times_table(frame),
    )  # fmt: skip


def speedup_figure(group):
    """Speed-up over the compression ratio, where a single device and two ratios were recorded."""
    frame = group.frame
    split = frame[(frame.strategy != "single") & (frame.compression_rate > 0)]
    split = name_curves(split[split.groupby("rate_mbps", dropna=False).compression_rate.transform("nunique") > 1])
    if not (frame.strategy == "single").any() or split.empty:
        return None
    rates = shown_rates(split)
    table = times_table(split)
    single_s = float(frame[frame.strategy == "single"].p50_s.median())
    table["speed-up"] = (single_s / split.p50_s).map("{:.3f}".format).to_numpy()
    return Figure(
        "speedup", f"Speed-up over the compression ratio: {group.title}",
        "Median latency of the single device over that of the split "
        f"({_listed([rate_text(rate) for rate in rates])}); {spread_text(split, 'the split')}. "
        "Above the dashed line the split is faster. The ratio is that of uncompressed to "
        "transmitted bits.",
        lambda sheet: draw_speedup(frame, rates, group.title, sheet), table,
    )  # fmt: skip


def accuracy_figure(group):
    """Accuracy over the compression ratio, where records hold scores."""
    frame = group.frame[group.frame.accuracy.notna()]
    split = frame[(frame.strategy != "single") & (frame.compression_rate > 0)]
    if split.empty:
        return None
    table = scores_table(frame)
    return Figure(
        "accuracy", f"Accuracy over the compression ratio: {group.title}",
        "The metric over all scored samples; error bars are its 95 % interval.",
        lambda sheet: draw_accuracy(frame, group.title, sheet), table,
    )  # fmt: skip


def bits_figure(group):
    """Accuracy over what all devices send, where records count it (`thinwire eval`)."""
    frame = group.frame[group.frame.accuracy.notna() & (group.frame.devices > 1)]
    if (frame.sent_bits > 0).sum() < 2:
        return None
    return Figure(
        "bits", f"Accuracy over bits: {group.title}",
        "The metric over all scored samples against the bits that all devices send in one "
        "inference, headers and padding included; error bars are the metric's 95 % interval.",
        lambda sheet: draw_accuracy_over_bits(group.frame, group.title, sheet),
        scores_table(group.frame),
    )  # fmt: skip


def scores_table(frame):
    """A figure's scores with their intervals."""
    points = frame.drop_duplicates(["label", "devices"])
    return pd.DataFrame(
        {
            "strategy": points.label,
            "P": points.devices,
            "CR": points.compression_rate.map(plain),
            "bits": points.sent_bits.map(plain),
            "metric": points.metric,
            "value": points.accuracy.map("{:.4g}".format),
            "95 % from": points.accuracy_low.map("{:.4g}".format),
            "95 % to": points.accuracy_high.map("{:.4g}".format),
        }
    )


def communication_figure(group):
    """Communication time by formula over the link's rate, where at least two rates were set."""
    frame = group.frame
    frame = frame[np.isfinite(frame.rate_mbps) & (frame.formula_s > 0) & (frame.devices > 1)]
    if frame.rate_mbps.nunique() < 2:
        return None
    frame = name_by_formula(frame)
    frame, left_out = _fewer_panels(frame)
    table = frame.assign(ms=(1e3 * frame.formula_s).map(plain), rate=frame.rate_mbps.map(plain))
    table = table[["label", "devices", "rate", "ms"]]
    table.columns = ["strategy", "P", "rate (Mbps)", "communication (ms)"]
    return Figure(
        "communication", f"Communication over the link's rate: {group.title}",
        "Time that one device's messages of an inference occupy the link, from the counted bits "
        f"by formula: no sample, no error bar. Both axes are logarithmic.{left_out}",
        lambda sheet: draw_communication(frame, group.title, sheet), table,
    )  # fmt: skip


def breakdown_figure(group):
    """Compute and waiting, stacked, at the one rate that stands for all."""
    frame = group.frame[(group.frame.devices > 1) & group.frame.wait_p50_s.notna()]
    if frame.empty:
        return None
    rate = reference_rate(frame.rate_mbps)
    chosen, left_out = _fewer_panels(
        name_curves(frame[np.isclose(frame.rate_mbps, rate, equal_nan=True)])
    )
    return Figure(
        "breakdown", f"Latency in parts at {rate_text(rate)}: {group.title}",
        "Medians of the device that ends last: compute and waiting make up the latency; transfer "
        "time that local work hides lies below. Medians of parts need not add up to the median "
        f"of the whole. {_sentence(spread_text(chosen, 'the whole'))}.{left_out}",
        lambda sheet: draw_breakdown(chosen, rate, group.title, sheet), times_table(chosen),
    )  # fmt: skip


def compression_figure(records):
    """Compression ratio of trace-b over K and P, where records hold two levels."""
    frames = [group.frame for group in formula_groups(records)]
    frame = pd.concat(frames, ignore_index=True) if frames else None
    levels = compression_levels(frame) if frame is not None else pd.DataFrame()
    if levels.empty or levels.codewords.nunique() < 2:
        return None
    table = levels.sort_values(["model", "devices", "codewords"])
    table = table.assign(compression_rate=table.compression_rate.map(plain))
    table = table[["model", "devices", "codewords", "compression_rate"]]
    table.columns = ["model", "P", "K", "CR"]
    return Figure(
        "compression", "Compression ratio over K and P: trace-b",
        "Uncompressed over transmitted bits of one inference, counted: no sample, no error bar. "
        "K is the number of codewords in use.",
        lambda sheet: draw_compression(levels, "Compression ratio of trace-b", sheet), table,
    )  # fmt: skip


def timeline_figure(timelines):
    """One block's timeline of each traced run."""
    if not timelines:
        return None
    traced = {name: load_events(path) for name, path in list(timelines.items())[:MOST_PANELS]}
    shared = set.intersection(*({bar["layer"] for bar in bars} for bars in traced.values()))
    if not shared:
        return None
    layer = sorted(shared)[len(shared) // 2]
    busy = [
        {"run": name, "lane": kind, "ms": plain(sum(e["dur"] for e in bars if e["cat"] == kind) / 1e3)}
        for name, bars in traced.items()
        for kind in ("compute", "wait", "transfer")
    ]
    return Figure(
        "timelines", f"Timelines of block {layer}",
        "Two lanes a device: what it does and what it sends, in one iteration at the first link "
        "setting of the trace. Each panel has a time scale of its own. The table sums all lanes "
        "over the whole iteration.",
        lambda sheet: draw_timelines(traced, layer, f"Block {layer}", sheet), pd.DataFrame(busy),
    )  # fmt: skip


def times_table(frame):
    """The numbers behind a figure of times."""
    table = pd.DataFrame(
        {
            "strategy": frame.label,
            "P": frame.devices,
            "rate (Mbps)": frame.rate_mbps.map(lambda r: plain(r) if np.isfinite(r) else "unlimited"),
            "CR": frame.compression_rate.map(plain),
            "p50 (ms)": (1e3 * frame.p50_s).map(plain),
            "p10 (ms)": (1e3 * frame.p10_s).map(plain),
            "p90 (ms)": (1e3 * frame.p90_s).map(plain),
            "compute (ms)": (1e3 * frame.compute_p50_s).map(plain),
            "waiting (ms)": (1e3 * frame.wait_p50_s).map(plain),
            "hidden (ms)": (1e3 * frame.hidden_p50_s).map(plain),
            "samples": frame.samples,
        }
    )
    return table.reset_index(drop=True)


def plain(value):
    """A number in four digits and without an exponent; a dash where there is none."""
    if value is None or not np.isfinite(value):
        return "–"
    digits = 0 if value == 0 else max(0, 3 - int(np.floor(np.log10(abs(value)))))
    return f"{value:.{digits}f}"


def spread_text(frame, whose="each point"):
    """What the error bars of a frame's times are."""
    if (frame.repeats > 1).any():
        rounds = int(frame.repeats.max())
        return f"error bars are p10–p90 of the medians of up to {rounds} repeats"
    if (frame.source == "predicted").all():
        return "no error bars: one value a point, by formula"
    fewest, most = int(frame.samples.min()), int(frame.samples.max())
    count = f"{most}" if fewest == most else f"{fewest} to {most}"
    if most <= 1:
        return "no error bars: one sample a point"
    return f"error bars are p10–p90 of {whose} ({count} samples a point)"


def shown_rates(frame):
    """At most three rates: the lowest, the one that stands for all, the highest; or unlimited."""
    finite = sorted({float(rate) for rate in frame.rate_mbps if np.isfinite(rate)})
    if not finite:
        return [float("nan")]
    return sorted({finite[0], reference_rate(finite), finite[-1]})


def _fewer_panels(frame):
    """The frame with at most MOST_PANELS numbers of devices, and a sentence when some are gone."""
    counts = split_counts(frame)
    if len(counts) <= MOST_PANELS:
        return frame, ""
    places = np.linspace(0, len(counts) - 1, MOST_PANELS).round().astype(int)
    kept = [counts[place] for place in places]
    text = f" Shown are {MOST_PANELS} of {len(counts)} numbers of devices; the table of records has all."
    return frame[frame.devices.isin(kept) | (frame.strategy == "single")], text


def _fits_published(frame):
    return bool((frame.model == "vit-base-16").all() and (frame.topology == "unicast").all())


def _sentence(text):
    return text[:1].upper() + text[1:]


def _listed(names):
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
