"""The study beyond the papers: coded indices, the front, slow links, and the studies beside them.

Reads the folder that experiments/beyond/run.sh wrote:

  break-even.predicted      what break_even.py found
  <task>/{coding,exact,prism,trace}.{jsonl,scores}, <task>/latency.predicted
  control/, loss/, payload/ records of the scripts beside run.sh
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
from thinwire_analysis.beyond_links_chapter import links_chapter
from thinwire_analysis.beyond_pareto_chapter import pareto_chapter
from thinwire_analysis.chapter import chapter_markdown
from thinwire_analysis.errors import InputError
from thinwire_analysis.figures import Sheet
from thinwire_analysis.records import finished, load_records

PARTS = ("coding", "exact", "prism", "trace")


@dataclass(frozen=True)
class Study:
    """What was found; `checks` are in the order of the summary."""

    chapters: list
    checks: list


def is_study(folder):
    """Whether experiments/beyond/run.sh left its records in this folder."""
    return (Path(folder) / FILE).exists()


def judge(results, schema):
    """Loads the folder's records and judges them. Raises InputError when a file is unusable."""
    results = Path(results)
    path = results / FILE
    if not path.exists():
        raise InputError(f"{path}: not there (experiments/beyond/run.sh writes it)")
    frame = break_even_frame(finished(load_records(path, schema=schema), path))
    tasks = [load_task(folder, schema, PARTS) for folder in _task_folders(results)]
    chapters = [links_chapter(frame, {})]
    if tasks:
        chapters.append(pareto_chapter(tasks))
    return Study(chapters, [check_times_meet(frame), check_proportional(frame)])


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
        *map(chapter_markdown, found.chapters),
    ]
    (out / "report.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def summary(found):
    """The lines that end the study."""
    return "\n".join(str(check) for check in found.checks)


def _task_folders(results):
    return [
        path for path in sorted(results.glob("*"))
        if path.is_dir() and any((path / f"{part}.jsonl").exists() for part in PARTS)
    ]  # fmt: skip
