"""A part of a study's report: words, tables and figures, for Markdown and for the HTML page."""

from dataclasses import dataclass, field

from thinwire_analysis.markdown import to_markdown


@dataclass(frozen=True)
class Chapter:
    """key: one word for file names   text: plain paragraphs   tables: [(title, DataFrame)]

    figures: html_report's Figure, kinds that no other chapter has
    lead: what was found, in a sentence
    """

    key: str
    title: str
    text: list
    tables: list = field(default_factory=list)
    figures: list = field(default_factory=list)
    lead: str = ""


def chapter_markdown(chapter):
    """The chapter with its figures linked by name: <kind>.png must lie beside the text."""
    parts = [f"## {chapter.title}", *chapter.text]
    for figure in chapter.figures:
        parts.append(f"![{figure.title}]({figure.kind}.png)\n\n*{figure.caption}*")
    for title, table in chapter.tables:
        parts.append(f"### {title}\n\n{to_markdown(table)}")
    return "\n\n".join(part.strip() for part in parts)


def in_short(chapters):
    """A Chapter of the others' leads."""
    return Chapter("short", "In short", [" ".join(c.lead for c in chapters if c.lead)])


def sentence(names):
    """`a`, `a and b`, `a, b and c`; an empty text of nothing."""
    names = list(names)
    return " and ".join([part for part in (", ".join(names[:-1]), *names[-1:]) if part])


def spoken(label):
    """A point's label inside of a sentence: `trace-b K = 512`."""
    return label.replace(",", "")
