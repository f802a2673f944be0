"""The chapter about levels on links that change: the controllers beside every fixed level."""

import numpy as np
import pandas as pd

from thinwire_analysis import palette
from thinwire_analysis.accuracy_format import NONE, factor, metric_name, value_text
from thinwire_analysis.accuracy_frame import is_rising
from thinwire_analysis.beyond_records import CONTROLLERS, conditions_frame
from thinwire_analysis.chapter import Chapter, sentence
from thinwire_analysis.figures import panels, use_log_scale
from thinwire_analysis.html_report.catalogue import Figure

PLACE = ["model", "strategy", "devices", "link", "topology"]
SAME = 1e-9  # of a latency


def control_chapter(records):
    """A Chapter of run (and eval) records; None where no controller chose a level."""
    if not records:
        return None
    frame = conditions_frame(records)
    timed = frame[frame.mean_s.notna() & (frame.level != "")]
    if not timed.level.isin(CONTROLLERS).any():
        return None
    beside = compared(timed)
    table = latency_table(timed)
    title = "Score and mean latency of each level on links that change"
    figure = Figure(
        "control", title,
        "Mean over inferences, which begin at different places of the trace. A line joins the "
        "fixed levels of a link, coarse to fine; larger marks are who chooses for every frame. Above and "
        "to the left is better.",
        lambda sheet: draw_levels(timed, title, sheet), table,
    )  # fmt: skip
    tables = [("Mean latency (ms)", table), ("Controllers beside the levels", beside_table(beside))]
    text = [_meaning(), _verdict(beside), _scores(beside)]
    return Chapter(
        "control", "Levels on links that change", [part for part in text if part], tables, [figure],
        _verdict(beside),
    )  # fmt: skip


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
            entry[name] = f"{1e3 * times[level]:.4g}" if level in times else NONE
        made.append(entry)
    return pd.DataFrame(made)


def compared(frame):
    """One row a place and controller.

    Columns: PLACE, controller, mean_s, fastest (level) with fastest_s, equals (level: the fastest
    fixed one that scores at least as well; empty where scores are not known) with equals_s, value,
    fastest_value, metric.
    """
    made = []
    for found, rows in frame.groupby(PLACE, sort=False):
        fixed = rows[~rows.level.isin(CONTROLLERS)]
        if fixed.empty:
            continue
        fastest = fixed.loc[fixed.mean_s.idxmin()]
        for _, own in rows[rows.level.isin(CONTROLLERS)].iterrows():
            rival = _as_good(fixed, own)
            made.append(
                {
                    **dict(zip(PLACE, found)),
                    "controller": own.level,
                    "mean_s": own.mean_s,
                    "index_bits": own.index_bits,
                    "fastest": fastest.level,
                    "fastest_s": fastest.mean_s,
                    "rival": "" if rival is None else rival.level,
                    "rival_s": np.nan if rival is None else rival.mean_s,
                    "metric": own.metric,
                    "value": own.value,
                    "fastest_value": fastest.value,
                }
            )
    return pd.DataFrame(made)


def _as_good(fixed, own):
    """The fastest fixed level with the controller's score or a better one; None if none has."""
    if not np.isfinite(own.value):
        return None
    sign = 1 if is_rising(own.metric) else -1
    good = fixed[sign * (fixed.value - own.value) >= 0]
    return good.loc[good.mean_s.idxmin()] if len(good) else None


def beside_table(beside):
    """For people: the controller's latency over that of the fastest level and of the fastest one
    that scores as well.
    """
    return pd.DataFrame(
        {
            "link": beside.link,
            "model": beside.model,
            "P": beside.devices,
            "who chooses": beside.controller,
            "mean (ms)": (1e3 * beside.mean_s).map("{:.4g}".format),
            "bits an index": beside.index_bits.map(_plain),
            "fastest level": "K = " + beside.fastest,
            "of its time": (beside.mean_s / beside.fastest_s).map("{:.3f}".format),
            "score": [value_text(r.metric, r.value) for r in beside.itertuples()],
            "its score": [value_text(r.metric, r.fastest_value) for r in beside.itertuples()],
            "fastest as good": [f"K = {level}" if level else NONE for level in beside.rival],
            "of that time": (beside.mean_s / beside.rival_s).map(_plain),
        }
    )


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


def _verdict(beside):
    parts = []
    for name, rows in beside.groupby("controller", sort=False):
        ratio = rows.mean_s / rows.fastest_s
        ahead = rows[ratio <= 1 + SAME]
        behind = rows[ratio > 1 + SAME]
        text = (
            f"the level controller ({name}) is as fast as the fastest fixed level or faster at "
            f"{len(ahead)} of {len(rows)} places"
        )
        if len(behind):
            worst = behind.loc[ratio[behind.index].idxmax()]
            text += (
                f"; where it is slower it takes up to {ratio.max():.3f} of that level's time "
                f"({worst.link}, {worst.model}, K = {worst.fastest})"
            )
        parts.append(text)
    return f"{'. '.join(part[:1].upper() + part[1:] for part in parts)}."


def _scores(beside):
    known = beside[np.isfinite(beside.value)]
    if known.empty:
        return "No scores are among these records, so that levels are compared by time alone."
    parts = []
    for name, rows in known.groupby("controller", sort=False):
        with_rival = rows[np.isfinite(rows.rival_s)]
        ahead = int((with_rival.mean_s <= with_rival.rival_s * (1 + SAME)).sum())
        best = len(rows) - len(with_rival)
        parts.append(
            f"against fixed levels that score at least as well {name} is as fast or faster at "
            f"{ahead} of {len(with_rival)} places"
            + (f", and at {best} no fixed level does" if best else "")
        )
    text = sentence(parts)
    return f"{text[:1].upper()}{text[1:]}."


def _plain(value):
    return f"{value:.3f}" if np.isfinite(value) else NONE
