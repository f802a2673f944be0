"""python -m analysis.report results/ -o report.html"""

import argparse
import sys
from pathlib import Path

from thinwire_analysis.cli import DEFAULT_PUBLISHED, DEFAULT_SCHEMA
from thinwire_analysis.errors import InputError
from thinwire_analysis.figures import Sheet
from thinwire_analysis.html_report.collect import collect
from thinwire_analysis.html_report.page import build_page
from thinwire_analysis.html_report.studies import find_studies
from thinwire_analysis.records import load_schema

EXAMPLES = """\
examples:
  python -m analysis.report results/ -o report.html
  python -m analysis.report results/latency.jsonl -o report.html --figures figures/

The page needs no other file and no network. Figures appear where the records fill them; timelines
where `thinwire run --trace` left files beside the records; published cells beside ours where
experiments/reproduce.sh left its tables.json; words, tables and figures beyond the papers where
experiments/beyond/run.sh left its records.
"""


def main(arguments=None):
    """Exit status: 0 written, 2 bad usage or input."""
    options = _parser().parse_args(arguments)
    try:
        schema = load_schema(options.schema)
        found = collect(options.results, schema, _progress)
        studies = find_studies(options.results, schema, _progress)
        _progress("drawing")
        page, figures = build_page(found, options.published, _progress, studies)
        options.output.write_text(page, encoding="utf-8")
        written = [str(options.output)]
        if options.figures:
            _progress(f"writing {2 * len(figures)} pictures into {options.figures}")
            written += _write_figures(figures, options.figures)
    except (InputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    records = sum(len(folder.records) for folder in found.folders)
    print(f"{options.output}: {records} records, {len(figures)} figures")
    for note in found.notes:
        print(f"note: {note}")
    return 0


def _write_figures(figures, folder):
    """Each figure as <folder>-<kind>-<n>.svg and .png."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{key}.{suffix}" for key in figures for suffix in ("svg", "png")]
    for path in paths:
        figures[path.stem].draw(Sheet(path, columns=3))
    return [str(path) for path in paths]


def _progress(text):
    print(text, file=sys.stderr, flush=True)


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m analysis.report",
        description="One self-contained HTML page from thinwire's result files.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "results", nargs="+", type=Path, help="files, or folders that are searched recursively"
    )
    parser.add_argument("-o", "--output", required=True, type=Path, help="the page to write")
    parser.add_argument(
        "--figures", type=Path, metavar="DIR", help="write every figure as SVG and PNG, too"
    )
    parser.add_argument(
        "--published", type=Path, default=DEFAULT_PUBLISHED.parent, metavar="DIR",
        help="folder with the papers' cells (default: the repository's results/published)",
    )  # fmt: skip
    parser.add_argument(
        "--schema", type=Path, default=DEFAULT_SCHEMA, help="JSON Schema of the records"
    )
    return parser
