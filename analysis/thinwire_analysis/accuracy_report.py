"""report.md of the accuracy study, its findings in words among it."""

import numpy as np

from thinwire_analysis.accuracy_comparisons import EQUAL, FAILS, HOLDS, UNDECIDED
from thinwire_analysis.accuracy_figures import latency_setting
from thinwire_analysis.accuracy_format import change_text, metric_name
from thinwire_analysis.accuracy_orderings import ORDERINGS
from thinwire_analysis.accuracy_published import prism_counterpart
from thinwire_analysis.markdown import to_markdown
from thinwire_analysis.report import environment_list

READING = """\
How to read this:

- Intervals are 95 % percentile bootstrap intervals over samples, 1,000 resamples. Those of a
  difference are paired: both points are scored on the same resampled samples, so that a difference
  can be clear although the intervals of the two scores overlap.
- A gain is signed so that plus is better, also where a smaller score is the better one. It `holds`
  or `does not hold` where its interval leaves out zero, and is `undecided` where it does not.
- Models are as trained for one device: nothing is finetuned for any strategy. Codebooks are trained
  on the calibration sets with the backbone frozen.
- ASTRA has no levels: at each K it has a codebook of its own, trained for that K, where trace's
  levels are nested in one codebook of 1,024.
- A sentence with fewer tokens than devices runs on as many devices as it has tokens; with fewer
  rows than means, a device sends its rows.
- Bits are all that the devices of one inference send, headers and padding included, each message
  once; the mean over samples.
- The papers' cells are of other models on other data, finetuned in TRACE and partly in PRISM; only
  the direction and the rough size of a change can be set beside ours.
"""

PARETO = """\
The line joins points that no other beats with as many bits or fewer. Pipelining is not among them:
it sends little and changes nothing, but its devices work one after the other, so that one
inference takes no less time than on one device.

"""


def assemble(found, tables):
    """The report as Markdown; figures are linked by name, so they must lie beside it.

    found: a Study (accuracy.py)   tables: {name: frame}
    """
    parts = [
        "# What compression costs in accuracy",
        "## Checks\n\n" + "\n".join(f"- {check}" for check in found.checks),
        "## Which orderings of the papers hold here\n\n" + findings_text(found.findings),
        READING,
        "## Machine\n\n" + environment_list(found.environment),
        "## The single device\n\n" + to_markdown(tables["reference"]),
        "## Score over bits and over time\n\n" + _figure("pareto-bits", "Score over bits") + PARETO
        + _latency_part(found.tasks),
        "## PRISM\n\n" + _figure("prism", "Score over the compression rate"),
        "## Levels and placements of TRACE\n\n" + _figure("levels", "Score over K")
        + _figure("devices", "Score over P"),
    ]  # fmt: skip
    parts += [_task_part(task, found, tables) for task in found.tasks]
    parts.append("Every point: `points.csv`; every pair: `comparisons.csv`; records: `*/*.jsonl`.")
    return "\n\n".join(part.strip() for part in parts) + "\n"


def findings_text(findings):
    """One entry an ordering: where it holds, by how much, and how the answers moved where not."""
    entries = []
    for ordering in ORDERINGS:
        found = [finding for finding in findings if finding.ordering.key == ordering.key]
        if found:
            lines = "\n".join(f"  - {finding_text(finding)}" for finding in found)
            entries.append(
                f"- **{ordering.text}** ({ordering.source}): {_overall(found)}.\n{lines}"
            )
    return "\n".join(entries)


def finding_text(finding):
    """`cifar10: holds, mean gain +1.20 [0.80, 1.60] over 19 pairs (12 hold, 7 undecided)`"""
    counts = [
        f"{finding.count(wanted)} {name}"
        for wanted, name in (
            (HOLDS, "hold"), (FAILS, "do not hold"), (UNDECIDED, "undecided"), (EQUAL, "equal"),
        )
        if finding.count(wanted)
    ]  # fmt: skip
    pairs = len(finding.comparisons)
    text = (
        f"{finding.task}: {finding.verdict}; mean gain "
        f"{change_text(finding.metric, finding.mean, finding.low, finding.high)} "
        f"{metric_name(finding.metric)} over {pairs} pair{'s' if pairs > 1 else ''} "
        f"({', '.join(counts)})"
    )
    against = [c.place for c in finding.comparisons if c.verdict == FAILS]
    if against:
        shown = "; ".join(against[:6]) + (
            f" and {len(against) - 6} more" if len(against) > 6 else ""
        )
        text += f". Against it: {shown}{_why(finding)}"
    return text


def _why(finding):
    """What agreement with the single device, which knows no labels, says of the pairs against."""
    pairs = [c for c in finding.comparisons if c.verdict == FAILS]
    for column, name, closer in (
        ("kl", "outputs' KL divergence from the single device's", np.less),
        ("output_cosine", "outputs' cosine with the single device's", np.greater),
    ):
        better = np.mean([c.better[column] for c in pairs])
        worse = np.mean([c.worse[column] for c in pairs])
        if np.isfinite(better) and np.isfinite(worse):
            how = "although the answers stay closer to" if closer(better, worse) else (
                "and the answers stray further from"
            )  # fmt: skip
            return f", {how} the single device's: {name} is {better:.4g} against {worse:.4g}"
    return ""


def _overall(found):
    by_verdict = {}
    for finding in found:
        by_verdict.setdefault(finding.verdict, []).append(finding.task)
    if len(by_verdict) == 1:
        return f"{next(iter(by_verdict))} on {_listed([f.task for f in found])}"
    return "; ".join(f"{verdict} on {_listed(tasks)}" for verdict, tasks in by_verdict.items())


def _listed(names):
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _figure(name, title):
    return f"![{title}]({name}.png)\n\n"


def _latency_part(tasks):
    timed = [task for task in tasks if not task.latency.empty]
    if not timed:
        return ""
    speeds = ", ".join(f"{t.name} {t.latency.gflops.iloc[0]:.3g}" for t in timed)
    return _figure("pareto-latency", "Score over latency") + (
        f"Latency is predicted by formula for a link of {latency_setting(timed)} (unicast) and "
        f"devices of one core that compute at the measured rate of this machine (GFLOP/s: {speeds})"
        ". The grey line is the single device's."
    )


def _task_part(task, found, tables):
    parts = [f"## {task.name}"]
    counterpart = prism_counterpart(found.documents, task.metric)
    beside = f" Paper: {counterpart}; the nearest CR within 15 %." if counterpart else ""
    headings = (
        ("exact", "Strategies that must change nothing", ""),
        ("bf16", "Products in bf16 beside fp32",
         f"{metric_name(task.metric)}; the difference is paired over samples. Weights and the rows "
         "that they multiply are rounded to bf16; codebooks are those of fp32."),
        ("prism", "PRISM over (P, L) with scaling on and off",
         f"Score from the single device on the same samples.{beside}"),
        ("levels", "Levels (TRACE, Table III)", ""),
        ("placement", "Placements at the finest level (TRACE, Table VI)", ""),
        ("hierarchy", "Metric of the hierarchy (TRACE, Table VII)", ""),
        ("update", "Update of the codebooks (TRACE, Table VIII)", ""),
        ("devices", "trace-b over P and K (TRACE, Fig. 9)", ""),
        ("padding", "Padded against packed", found.padding.get(task.name, "")),
    )  # fmt: skip
    for key, title, text in headings:
        table = tables.get(f"{task.name}-{key}")
        if table is not None and not table.empty:
            samples = _samples(task, key)
            parts.append(f"### {title}\n\n{to_markdown(table)}\n{samples}{text}".strip())
    return "\n\n".join(parts) if len(parts) > 1 else ""


def _samples(task, key):
    """How many samples a table's points have, where its rows do not say so."""
    part = {"prism": "prism", "hierarchy": "variants", "update": "variants"}.get(key, "trace")
    rows = task.part(part)
    if key in ("exact", "bf16", "padding") or rows.empty:
        return ""
    counts = sorted({int(count) for count in rows.samples})
    return f"{metric_name(task.metric)} on {_listed([f'{count}' for count in counts])} samples. "
