"""The chapter about the slowest links: its words, with the numbers from the records."""

import numpy as np

from thinwire_analysis.beyond_break_even import (
    KNOWN_LINKS,
    SCALING,
    at_speed,
    bit_rate_text,
    break_even_table,
    draw_break_even,
    scaled,
)
from thinwire_analysis.chapter import Chapter, sentence, spoken
from thinwire_analysis.html_report.catalogue import Figure

PRESETS = ("vit-base-16", "bert-base", "gpt2")


def links_chapter(frame, ratios):
    """frame: break_even_frame   ratios: as beyond_break_even.scaled takes them"""
    speeds = list(dict.fromkeys(frame.gflops))  # the stated one, then this machine's
    slow = at_speed(frame, speeds[0])
    presets = scaled(slow[slow.model.isin(PRESETS)], ratios)
    own = slow[~slow.model.isin(PRESETS)]
    title = f"Slowest link that is worth the split, devices of {speeds[0]:g} GFLOP/s"
    tables = [(title, break_even_table(presets))]
    figures = [_figure("break-even", title, presets)]
    if len(own):
        own_title = f"The same of models with codebooks of their own, {speeds[0]:g} GFLOP/s"
        tables.append((own_title, break_even_table(own)))
        figures.append(_figure("break-even-models", own_title, own))
    text = [_meaning(speeds), _order(presets), _known_links(presets)]
    text += [_never(slow), _coding(presets, ratios), _own(own), _speed(frame, speeds)]
    return Chapter(
        "links", "The slowest link that is worth a split", [part for part in text if part],
        tables, figures, _lead(presets),
    )  # fmt: skip


def _lead(frame):
    two = frame[(frame.devices == 2) & frame.rate.notna()]
    most, least = two.loc[two.rate.idxmax()], two.loc[two.rate.idxmin()]
    return (
        f"On two devices of {most.gflops:g} GFLOP/s a split is worth it from "
        f"{bit_rate_text(most.rate)} ({spoken(most.label)}, {most.model}) down to "
        f"{bit_rate_text(least.rate)} ({spoken(least.label)}, {least.model})."
    )


def _figure(kind, title, frame):
    return Figure(
        kind, title,
        "By formula: left of its marker a split takes longer than one device. Dotted lines are "
        "links for orientation.",
        lambda sheet: draw_break_even(frame, title, sheet), break_even_table(frame),
    )  # fmt: skip


def _meaning(speeds):
    return (
        "A split saves computing and pays with messages. Below a certain rate of the link it takes "
        "longer than one device alone; that rate is the price of a strategy in a single number. "
        f"It is found by the formulas of `predict` for devices of {speeds[0]:g} GFLOP/s each, "
        "rows divided evenly, no latency a message, and the time of one device as what has to be "
        "beaten. A pipeline with one input can never win, because its devices work one after the "
        "other; with several inputs in flight the time an input is compared."
    )


def _order(frame):
    two = frame[(frame.devices == 2) & (frame.topology == "broadcast") & frame.rate.notna()]
    everywhere = two.groupby("label").model.transform("nunique") == two.model.nunique()
    middle = np.exp(np.log(two[everywhere].rate).groupby(two[everywhere].label).mean())
    ranked = middle.sort_values(ascending=False)
    listed = sentence([f"{spoken(name)} at {bit_rate_text(rate)}" for name, rate in ranked.items()])
    return (
        "Two devices start to win, by the geometric mean over "
        f"{sentence(sorted(two.model.unique()))}, with {listed}. From first to last that is a factor "
        f"of {float(f'{ranked.iloc[0] / ranked.iloc[-1]:.3g}'):,.0f}: what is exchanged decides about the link that a "
        "split needs, not how the arithmetic is divided."
    )


def _known_links(frame):
    parts, before = [], []
    for name, rate in KNOWN_LINKS:
        won = (frame.rate <= rate).groupby(frame.label, sort=False).agg(["all", "any"])
        everywhere = [label for label in won.index[won["all"]] if label not in before]
        some = sentence(map(spoken, won.index[won["any"] & ~won["all"]]))
        named = sentence(map(spoken, everywhere)) or ("those alone" if before else "nothing")
        parts.append(
            f"On a link of {bit_rate_text(rate)} ({name}) all of these models, on two devices and "
            f"on four, are faster with {'those and ' if before and everywhere else ''}{named}"
            + (f", some with {some}." if some else ".")
        )
        before += everywhere
    return " ".join(parts)


def _never(frame):
    never = frame.rate.isna().groupby(frame.label, sort=False).all()
    lost = sentence(map(spoken, never.index[never]))
    return f"Never worth it, on whatever link: {lost}." if lost else ""


def _coding(frame, ratios):
    if not ratios:
        return (
            "No record of coded indices is here, so the rates of trace-b and astra are those of "
            "fixed frames."
        )
    listed = sentence(
        [
            f"{part:.2f} for {strategy} ({kind})"
            for (kind, strategy), (part, _) in ratios.items() if strategy in SCALING
        ]  # fmt: skip
    )
    return (
        "Times depend on bits over rate alone, so frames of a part of the bits break even at that "
        "part of the rate. The rows with a coding are the fixed ones times the mean part measured "
        f"on a model of the same family with trained codebooks: {listed}. Where the first "
        "exchange travels in full (trace-nb) coding changes next to nothing: that one message "
        "decides."
    )


def _own(frame):
    """What coding and payloads do to models whose tables are at hand."""
    parts = []
    for model in dict.fromkeys(frame.model):
        rates = frame[(frame.model == model) & frame.rate.notna()]
        for devices, rows in rates.groupby("devices", sort=True):
            found = rows.set_index("label").rate
            parts += [
                f"{spoken(label)} on {devices} devices of {model} from {bit_rate_text(rate)} to "
                f"{bit_rate_text(found[f'{label}, {form}'])} with {form}"
                for label, rate in found.items() for form in ("cross-layer", "int8")
                if f"{label}, {form}" in found.index
                and label.startswith(("trace-b", "voltage"))
            ]  # fmt: skip
    if not parts:
        return ""
    return (
        "With codebooks and tables of their own, and the expected frames that `predict` takes from "
        f"them, the models that were scored change so: {'; '.join(parts)}. A small model computes "
        "little a token, so that it takes a faster link than the large ones above."
        + _costly_search(frame)
    )


def _costly_search(frame):
    lost = frame[frame.rate.isna() & frame.strategy.isin((*SCALING, "trace-nb"))]
    if lost.empty:
        return ""
    return (
        f" For {sentence(lost.model.unique())} the search among the codewords alone takes more than "
        "some splits save, whatever the link."
    )


def _speed(frame, speeds):
    if len(speeds) < 2:
        return ""
    return (
        "Without a latency a message these rates are in proportion to the devices' speed. At "
        f"{speeds[-1]:g} GFLOP/s, which one core of this machine reaches on half of ViT-B/16's "
        f"rows, every one of them is {speeds[-1] / speeds[0]:.3g} times as high: fast devices need "
        "fast links, and slow ones are content with slow ones."
    )
