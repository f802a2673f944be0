"""The chapter about the Pareto fronts: its words, with the numbers from the records."""

from thinwire_analysis.accuracy_figures import latency_setting
from thinwire_analysis.accuracy_format import bits_text, value_text
from thinwire_analysis.beyond_pareto import (
    CLOSE_POINTS,
    close_points,
    close_table,
    draw_fronts,
    front_rows,
    front_table,
    fronts,
)
from thinwire_analysis.chapter import Chapter
from thinwire_analysis.html_report.catalogue import Figure


def pareto_chapter(tasks):
    """tasks: of accuracy_study, with the parts exact, prism and trace; None without points"""
    tasks = [task for task in tasks if not front_rows(task, "sent_bits").empty]
    if not tasks:
        return None
    timed = [task for task in tasks if not task.latency.empty]
    table = front_table(tasks)
    figures = [
        Figure(
            "front-bits", "Score over bits, with and without coding and payloads",
            "Filled: what the papers have; hollow: coded indices and reduced payloads. The dotted "
            "line joins the best of the first, the full line the best of all.",
            lambda sheet: draw_fronts(tasks, "sent_bits", "Score over bits", sheet), table,
        )
    ]  # fmt: skip
    if timed:
        where = latency_setting(timed)
        gflops = timed[0].latency.gflops.iloc[0]
        title = f"Score over the latency at {where}, devices of {gflops:g} GFLOP/s"
        figures.append(
            Figure(
                "front-latency", title,
                f"By formula, at a link of {where}; markers and lines as above.",
                lambda sheet: draw_fronts(timed, "latency_ms", title, sheet), close_table(timed),
            )
        )  # fmt: skip
    return Chapter(
        "front", "The front of score over bits and time",
        [_meaning(), *(_task(task) for task in tasks)],
        [("Cheapest at nearly the single device's score", close_table(tasks)),
         ("The front over bits", table)],
        figures, _lead(tasks),
    )  # fmt: skip


def _lead(tasks):
    found = [fronts(front_rows(task, "sent_bits"), "sent_bits")[1] for task in tasks]
    return (
        f"Of {sum(map(len, found))} points on the fronts of score over bits "
        f"{sum(int(front.is_new.sum()) for front in found)} have coded indices or reduced payloads."
    )


def _meaning():
    return (
        "A point is on the front if none with as many bits or fewer scores better. Bits are all "
        "that the devices of one inference send, headers, padding and what a head needs (the sum of "
        "a mean over tokens) included, mean over the samples. Coding moves a point to the left and leaves its score; a reduced payload moves "
        "it to the left and may lower its score. Pipelining is left out: it does not make an "
        "inference faster."
    )


def _task(task):
    rows = front_rows(task, "sent_bits")
    front = fronts(rows, "sent_bits")[1]
    new = int(front.is_new.sum())
    text = (
        f"{task.name}: {new} of the front's {len(front)} points are new ones, from "
        f"{bits_text(front.sent_bits.min())} ({value_text(task.metric, front.value.iloc[0])}) to "
        f"{bits_text(front.sent_bits.max())} ({value_text(task.metric, front.value.iloc[-1])})."
    )
    without, best = close_points(task, "sent_bits")
    if best is None:
        return f"{text} No split comes within {CLOSE_POINTS:g} point of the single device."
    text += (
        f" Within {CLOSE_POINTS:g} point of the single device the fewest bits are "
        f"{bits_text(best.sent_bits)} by {best.label} on {best.devices} devices"
    )
    if without is not None and without.id != best.id:
        text += (
            f", {best.sent_bits / without.sent_bits:.2f} of the papers' best there "
            f"({without.label} on {without.devices})"
        )
    return text + "."
