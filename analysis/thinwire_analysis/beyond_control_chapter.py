"""The chapter about levels on links that change: the controllers beside every fixed level."""

import numpy as np
import pandas as pd

from thinwire_analysis import palette
from thinwire_analysis.accuracy_format import NONE, factor, metric_name, value_text
from thinwire_analysis.accuracy_frame import is_rising
from thinwire_analysis.beyond_records import CONTROLLERS, conditions_frame, level_of
from thinwire_analysis.chapter import Chapter, sentence
from thinwire_analysis.figures import panels, use_log_scale
from thinwire_analysis.html_report.catalogue import Figure
from thinwire_analysis.level_control import (
    FAIL,
    HELD,
    compare,
    judge,
    ms_text,
    name_of,
    of_controller,
    tally,
    timed_frame,
)
from thinwire_analysis.records import spec_of

PLACE = ["model", "strategy", "devices", "link", "topology"]
LITTLE_TIME = 0.01  # of a controller's mean latency


def control_verdicts(records, scores=None):
    """Verdicts of eval records with times; none where no controller chose a level.

    scores: {id: PointScores} of the records, for intervals of differences
    """
    if not any(level_of(spec_of(record)) in CONTROLLERS for record in records):
        return []
    return judge(timed_frame(records, scores))


def control_chapter(records, verdicts):
    """A Chapter of the records and their verdicts; None without verdicts."""
    if not verdicts:
        return None
    frame = conditions_frame(records)
    timed = frame[frame.mean_s.notna() & (frame.level != "")]
    table = latency_table(timed)
    tables = [("Mean latency (ms)", table),
              ("Controllers beside the levels", verdict_table(verdicts))]  # fmt: skip
    found = _found(verdicts)
    return Chapter(
        "control", "Levels on links that change",
        [_meaning(), _claim(), *found, *_cheap_gains(verdicts), *_order(verdicts)],
        tables, figures_of(timed), found[0],
    )  # fmt: skip


def figures_of(timed):
    """A Figure for goodput alone, for messages with a latency, and for every coding of indices."""
    figures = []
    kinds = timed.link.map(_kind)
    for kind in dict.fromkeys(kinds):
        rows = timed[kinds == kind]
        title = f"Score and mean latency of each level on links that change{kind and f', {kind}'}"
        figures.append(
            Figure(
                f"control-{kind.split()[0]}" if kind else "control", title,
                "Mean over inferences, which begin at different places of the trace. A line joins "
                "the fixed levels of a link, coarse to fine; larger marks are who chooses for "
                "every frame. Above and to the left is better.",
                lambda sheet, rows=rows, title=title: draw_levels(rows, title, sheet),
                latency_table(rows),
            )  # fmt: skip
        )
    return figures


def _kind(link):
    """What a link's name says beside the trace."""
    coding = link.rpartition(", ")[2] if ", " in link else ""
    return f"{coding} indices" if coding else "latency of a message added" if " + " in link else ""


def levels_in_order(frame):
    """Fixed levels by their size, then controllers."""
    fixed = sorted({level for level in frame.level if level not in CONTROLLERS}, key=int)
    return fixed + [name for name in CONTROLLERS if (frame.level == name).any()]


def latency_table(frame):
    """A row a model, strategy, P and link; a column a level."""
    order = levels_in_order(frame)
    made = []
    for found, rows in frame.groupby(PLACE, sort=False):
        model, strategy, devices, link, _ = found
        entry = {"link": link, "model": model, "strategy": strategy, "P": devices}
        times = rows.drop_duplicates("level").set_index("level").mean_s
        for level in order:
            name = level if level in CONTROLLERS else f"K = {level}"
            entry[name] = ms_text(times[level]) if level in times else NONE
        made.append(entry)
    return pd.DataFrame(made)


def verdict_table(verdicts):
    """A row a controller and place: what it does, and how the level that decides differs."""
    rows = []
    for verdict in verdicts:
        own, rival = verdict.own, verdict.rival
        rows.append(
            {
                "place": name_of(verdict.place),
                "who chooses": verdict.controller,
                "bits an index": f"{own.index_bits:.2f}",
                "score in": metric_name(own.metric),
                "score": value_text(own.metric, own.value),
                "mean (ms)": ms_text(own.mean_s),
                "verdict": verdict.outcome,
                "beside it": f"K = {rival.level}" if rival else NONE,
                "its time (%)": rival.time_text if rival else NONE,
                "its score": rival.score_text if rival else NONE,
            }
        )
    return pd.DataFrame(rows)


def draw_levels(frame, title, sheet):
    """A panel a model and strategy, a curve a link: score over mean latency of the fixed levels,
    and who chooses for every frame. Without scores, the bits of the level stand for them.
    """
    shown = frame[np.isfinite(frame.value)] if np.isfinite(frame.value).any() else frame
    panel_keys = list(shown.groupby(["model", "strategy", "devices"], sort=False))
    links = list(dict.fromkeys(shown.link))
    with panels(sheet, title, len(panel_keys), size=(4.8, 4.0)) as axes:
        for axis, ((model, strategy, devices), rows) in zip(axes, panel_keys):
            for link, place in rows.groupby("link", sort=False):
                colour = palette.VARIANT_COLOURS[links.index(link) % len(palette.VARIANT_COLOURS)]
                line = "-" if links.index(link) < len(palette.VARIANT_COLOURS) else "--"
                _draw_place(axis, place, colour, line, link)
            for name, marker in zip(CONTROLLERS, "*P"):
                if (rows.level == name).any():
                    axis.plot(
                        [], [], marker=marker, markersize=9, color="#555555", linestyle="none",
                        label=name,
                    )  # fmt: skip
            axis.set_title(f"{model}, {strategy}, P = {devices}", fontsize=10)
            axis.set_xlabel("mean latency (ms)")
            use_log_scale(axis, "x")
            metric = rows.metric.iloc[0]
            axis.set_ylabel(metric_name(metric) if metric else "bits of the level")
            if metric and not is_rising(metric):
                axis.invert_yaxis()  # upwards is better in every panel
            axis.grid(alpha=0.3)


def _draw_place(axis, place, colour, line, link):
    height = place.value * factor(place.metric.iloc[0]) if np.isfinite(place.value).all() else (
        place.level.map(lambda level: np.nan if level in CONTROLLERS else np.log2(int(level)))
    )  # fmt: skip
    height = height.where(height.notna(), place.index_bits)
    place = place.assign(height=height, ms=1e3 * place.mean_s)
    fixed = place[~place.level.isin(CONTROLLERS)]
    fixed = fixed.sort_values("level", key=lambda levels: levels.map(int))
    axis.plot(
        fixed.ms, fixed.height, color=colour, linestyle=line, marker="o", markersize=3.5,
        linewidth=1.0, label=link,
    )  # fmt: skip
    for name, marker in zip(CONTROLLERS, "*P"):
        own = place[place.level == name]
        axis.plot(
            own.ms, own.height, color=colour, marker=marker, markersize=9, linestyle="none",
            markeredgecolor="#000000", markeredgewidth=0.5,
        )  # fmt: skip


def _meaning():
    return (
        "A level of the hierarchy sets how many bits an index takes. On a link whose rate changes "
        "no one level is right throughout: the controller takes the finest level whose frame the "
        "measured rate lets arrive behind local work, anew for every frame."
    )


def _claim():
    return (
        "The claim is that no fixed level that scores as well is faster. Every level meets the "
        "same samples at the same places of the trace, so that differences are taken sample by "
        "sample, with 95 % bootstrap intervals. A controller fails where a level with its score "
        "or a better one is faster by more than chance and 0.1 %, and ties where a level may be; "
        "it passes where every level is no faster, or scores worse by more than chance."
    )


def _found(verdicts):
    """A paragraph a controller: how often it fails, and where, if it is held to the claim."""
    made = []
    for name in CONTROLLERS:
        own = of_controller(verdicts, name)
        if not own:
            continue
        text = f"Level control ({name}) against every fixed level: {tally(own)}."
        lost = [verdict for verdict in own if verdict.outcome == FAIL]
        if lost and name == HELD:
            listed = [
                f"{name_of(v.place)} (K = {v.rival.level}, {-100 * v.rival.time[0]:.2g} % less "
                "time)"
                for v in lost
            ]
            text += f" It fails at {'; '.join(listed)}."
        made.append(text)
    return made


def _cheap_gains(verdicts):
    """What the claim, which is about time alone, leaves out."""
    own = of_controller(verdicts, HELD)
    found = []
    for verdict in own:
        cheap = [r for r in verdict.rivals if r.gain[1] > 0 and r.time[0] <= LITTLE_TIME]
        found += [(verdict, max(cheap, key=lambda rival: rival.gain[0]))] if cheap else []
    if not found:
        return []
    verdict, rival = max(found, key=lambda pair: pair[1].gain[0] / abs(pair[0].own.value))
    return [
        f"The claim is about time; a little more of it can buy much. At {len(found)} of {len(own)} "
        f"places a fixed level scores better than {HELD} by more than chance and takes at most "
        f"{100 * LITTLE_TIME:g} % more time, most at {name_of(verdict.place)}: K = {rival.level} "
        f"with {metric_name(rival.metric)} {rival.score_text} for {100 * rival.time[0]:+.2f} % of "
        "the time. There waiting is so long that the bits of a finer level hardly add to it."
    ]


def _order(verdicts):
    """What no controller can know: that a coarse level scores better than a finer one."""
    parts, seen = [], set()
    for verdict in verdicts:
        fixed = verdict.fixed.sort_values("level", key=lambda levels: levels.map(int))
        pairs = [
            compare(finer, coarser)
            for place, (_, finer) in enumerate(fixed.iterrows())
            for _, coarser in fixed.iloc[:place].iterrows()
        ] if verdict.place[:3] not in seen else []  # fmt: skip
        seen.add(verdict.place[:3])
        better = [rival for rival in pairs if rival.gain[1] > 0]
        if better:
            model, strategy, devices = verdict.place[:3]
            parts.append(
                f"K = {sentence(dict.fromkeys(rival.level for rival in better))} of {model} "
                f"{strategy} on {devices} devices"
            )
    if not parts:
        return []
    return [
        "A controller takes the finest level that fits, as if finer were better. That is not so "
        f"everywhere: some finer level scores worse, by more than chance, than {sentence(parts)}. "
        "No rate tells a controller so."
    ]
