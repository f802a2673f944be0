"""Studies whose words stand on the page, before the records: those of experiments/beyond/run.sh."""

from dataclasses import dataclass
from pathlib import Path

from thinwire_analysis import beyond
from thinwire_analysis.html_report.svg import inline_svg
from thinwire_analysis.html_report.tables import Table


@dataclass(frozen=True)
class ChapterPart:
    """A Chapter as the template takes it. figures: [(key, Figure, wide SVG, narrow SVG)]"""

    key: str
    title: str
    text: list
    figures: list
    tables: list


@dataclass(frozen=True)
class StudyPart:
    """checks: lines of text   absent: a sentence, or empty   chapters: ChapterPart each"""

    key: str
    title: str
    checks: list
    absent: str
    chapters: list


def find_studies(paths, schema, progress=lambda text: None):
    """A StudyPart of every folder at or below the paths that holds such a study."""
    folders = sorted({f.parent.resolve() for p in paths for f in Path(p).rglob(beyond.FILE)})
    parts = []
    for place, folder in enumerate(folders, start=1):
        progress(f"reading the study in {folder.name}")
        key = "beyond" if len(folders) == 1 else f"beyond-{place}"
        parts.append(_study(key, folder.name, beyond.judge(folder, schema)))
    return parts


def _study(key, name, found):
    return StudyPart(
        key, f"Beyond the papers ({name})", [str(check) for check in found.checks],
        beyond.absent_text(found.absent),
        [_chapter(f"{key}-{chapter.key}", chapter) for chapter in found.chapters],
    )  # fmt: skip


def _chapter(key, chapter):
    figures = [
        (f"{key}-{figure.kind}", figure, *inline_svg(figure, f"{key}-{figure.kind}"))
        for figure in chapter.figures
    ]
    tables = [
        Table(title, list(table.columns), table.astype(str).values.tolist())
        for title, table in chapter.tables
    ]
    return ChapterPart(key, chapter.title, chapter.text, figures, tables)
