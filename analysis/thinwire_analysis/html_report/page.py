"""Puts figures and tables into the page's template."""

import re
from dataclasses import dataclass
from pathlib import Path

import jinja2

from thinwire_analysis.html_report import tables
from thinwire_analysis.html_report.catalogue import folder_figures
from thinwire_analysis.html_report.svg import inline_svg
from thinwire_analysis.published import load_documents, published_latency

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Section:
    """A folder's part of the page. figures: [(key, Figure, wide SVG, narrow SVG)]"""

    key: str
    name: str
    figures: list
    compared: list
    cuts: list
    notes: list
    records: tables.Table
    specs: list


def build_page(collection, published_folder, progress=lambda text: None, studies=()):
    """The page's text, and {key: Figure} of what it shows, key being a file name's stem.

    studies: StudyPart each
    """
    documents = load_documents(published_folder)
    sections = [_section(folder, documents, progress) for folder in collection.folders]
    text = _environment().get_template("report.html").render(
        sections=sections,
        studies=studies,
        notes=collection.notes,
        unfinished=tables.unfinished_table(collection.folders),
        environments=tables.environments(collection.folders),
        records=sum(len(folder.records) for folder in collection.folders),
        points=sum(len(section.records.rows) for section in sections),
        style=_source("report.css"),
        script=_source("report.js"),
    )
    chapters = [chapter for study in studies for chapter in study.chapters]
    return text, {
        key: figure for part in [*chapters, *sections] for key, figure, *_ in part.figures
    }


def _section(folder, documents, progress):
    key = re.sub(r"[^a-z0-9]+", "-", folder.name.lower()).strip("-") or "records"
    latency = published_latency(documents)
    figures, counts = [], {}
    for figure in folder_figures(folder, latency):
        counts[figure.kind] = counts.get(figure.kind, 0) + 1
        name = f"{key}-{figure.kind}-{counts[figure.kind]}"
        progress(f"drawing {name}")
        figures.append((name, figure, *inline_svg(figure, name)))
    compared = tables.published_tables(folder, documents)
    return Section(
        key=key,
        name=folder.name,
        figures=figures,
        compared=compared,
        cuts=tables.cut_tables(folder, latency),
        notes=[note for document in documents if compared for note in _notes(document, folder)],
        records=tables.records_table(folder),
        specs=tables.specs(folder),
    )


def _notes(document, folder):
    described = {table["key"] for table in document["tables"]}
    fits = {cell["table"] for cell in folder.cells} <= described
    return document.get("notes", []) if fits else []


def _environment():
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip


def _source(name):
    return jinja2.utils.markupsafe.Markup((TEMPLATES / name).read_text(encoding="utf-8"))
