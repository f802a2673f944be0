"""The study beyond the papers: coded indices, the front, slow links, and the studies beside them.

Reads the folder that experiments/beyond/run.sh wrote:

  break-even.predicted      what break_even.py found
  <task>/{coding,exact,prism,trace}.{jsonl,scores}, <task>/latency.predicted
  <task>/contexts.txt, <task>/frames.json       what contexts.py and thinwire_code_frames found
  control{,-latency,-coded}/, loss/, payload/   records of the scripts beside run.sh
Every part may be absent; the report then says so.
"""

from dataclasses import dataclass
from pathlib import Path

from thinwire_analysis.accuracy_study import load_task
from thinwire_analysis.beyond_break_even import (
    FILE,
    break_even_frame,
    check_proportional,
    check_times_meet,
)
from thinwire_analysis.beyond_coding import check_coding, measured_ratios
from thinwire_analysis.beyond_coding_chapter import coding_chapter
from thinwire_analysis.beyond_control_chapter import control_chapter, control_verdicts
from thinwire_analysis.beyond_frames import check_frames, load_frames
from thinwire_analysis.beyond_links_chapter import links_chapter
from thinwire_analysis.beyond_loss_chapter import loss_chapter
from thinwire_analysis.beyond_pareto_chapter import pareto_chapter
from thinwire_analysis.beyond_payload_chapter import (
    check_int8,
    payload_chapter,
    payload_pairs,
    sources,
)
from thinwire_analysis.beyond_records import folder_records, folder_scores
from thinwire_analysis.chapter import chapter_markdown, in_short, sentence
from thinwire_analysis.errors import InputError
from thinwire_analysis.figures import Sheet
from thinwire_analysis.level_control import check_held
from thinwire_analysis.records import finished, load_records

PARTS = ("coding", "exact", "prism", "trace")
# What control.sh writes: without and with a latency a message, with coded indices.
CONTROL = ("control", "control-latency", "control-coded")


@dataclass(frozen=True)
class Study:
    """What was found; `checks` are in the order of the summary."""

    chapters: list
    checks: list
    absent: list  # names of the parts without records


def is_study(folder):
    """Whether experiments/beyond/run.sh left its records in this folder."""
    return (Path(folder) / FILE).exists()


def judge(results, schema):
    """Loads the folder's records and judges them. Raises InputError when a file is unusable."""
    results = Path(results)
    path = results / FILE
    if not path.exists():
        raise InputError(f"{path}: not there (experiments/beyond/run.sh writes it)")
    links = break_even_frame(finished(load_records(path, schema=schema), path))
    tasks = [load_task(folder, schema, PARTS) for folder in _task_folders(results)]
    controlled = [r for name in CONTROL for r in folder_records(results / name, schema)]
    verdicts = control_verdicts(
        controlled, {k: s for name in CONTROL for k, s in folder_scores(results / name).items()}
    )
    pairs = payload_pairs(sources(tasks, results / "payload", schema))
    made = {
        "coded indices": coding_chapter(tasks, results),
        "scores": pareto_chapter(tasks),
        "links": links_chapter(links, measured_ratios(tasks)),
        "levels on changing links": control_chapter(controlled, verdicts),
        "lost packets": loss_chapter(
            folder_records(results / "loss", schema), folder_scores(results / "loss")
        ),
        "reduced payloads": payload_chapter(pairs),
    }
    checks = [check_times_meet(links), check_proportional(links), *check_coding(tasks)]
    checks += check_frames(load_frames(tasks, results))
    checks += [check_held(verdicts)] if verdicts else []
    checks += [] if pairs.empty else [check_int8(pairs)]
    absent = [name for name, chapter in made.items() if chapter is None]
    chapters = [chapter for chapter in made.values() if chapter]
    return Study([in_short(chapters), *chapters], checks, absent)


def write_outputs(found, _results, out):
    """Writes figures, CSV tables and report.md into `out`."""
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    for chapter in found.chapters:
        for figure in chapter.figures:
            figure.draw(Sheet(out / f"{figure.kind}.png"))
        for place, (_, table) in enumerate(chapter.tables, start=1):
            table.to_csv(out / f"{chapter.key}-{place}.csv", index=False)
    parts = [
        "# Beyond the papers",
        "## Checks\n\n" + "\n".join(f"- {check}" for check in found.checks),
        absent_text(found.absent),
        *map(chapter_markdown, found.chapters),
    ]
    (out / "report.md").write_text("\n\n".join(filter(None, parts)) + "\n", encoding="utf-8")


def absent_text(absent):
    """A sentence about the parts without records; empty where there are all."""
    return f"This folder has no records of {sentence(absent)}." if absent else ""


def summary(found):
    """The lines that end the study."""
    return "\n".join(str(check) for check in found.checks)


def _task_folders(results):
    return [
        path for path in sorted(results.glob("*"))
        if path.is_dir() and any((path / f"{part}.jsonl").exists() for part in PARTS)
    ]  # fmt: skip
