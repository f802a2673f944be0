"""python -m thinwire_analysis prism|trace|validation|scale|accuracy|beyond --results DIR --out DIR
python -m thinwire_analysis micro A.json B.json
"""

import argparse
import sys
from pathlib import Path

from thinwire_analysis import accuracy, beyond, micro, prism, scale, trace, validation
from thinwire_analysis.errors import InputError
from thinwire_analysis.records import load_schema

REPOSITORY = Path(__file__).resolve().parents[2]
DEFAULT_PUBLISHED = REPOSITORY / "results" / "published" / "prism.json"
DEFAULT_REFERENCES = REPOSITORY / "experiments" / "accuracy" / "references.json"
DEFAULT_SCHEMA = REPOSITORY / "schema" / "thinwire.result-1.schema.json"


def main(arguments=None):
    """Exit status: 0 all checks pass, 1 one fails, 2 bad usage or input."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "micro":
            print(micro.report(micro.compare(options.first, options.second)))
            return 0
        if options.command == "prism":
            schema = load_schema(options.schema)
            paper, found = prism, prism.reproduce(options.results, options.published, schema)
        elif options.command == "validation":
            paper, found = validation, validation.judge(
                options.results, load_schema(options.schema)
            )
        elif options.command == "accuracy":
            paper, found = accuracy, accuracy.judge(
                options.results, options.references, options.published,
                load_schema(options.schema),
            )  # fmt: skip
        elif options.command == "beyond":
            paper, found = beyond, beyond.judge(options.results, load_schema(options.schema))
        elif options.command == "scale":
            paper, found = scale, scale.reproduce(options.results)
        else:
            paper, found = trace, trace.reproduce(options.results, load_schema(options.schema))
        paper.write_outputs(found, options.results, options.out)
    except (InputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(paper.summary(found))
    return 0 if all(check.passed for check in found.checks) else 1


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m thinwire_analysis",
        description="Tables, figures and reports from thinwire's result records.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    command = _add(commands, "prism")
    command.add_argument(
        "--published", type=Path, default=DEFAULT_PUBLISHED, help="the paper's printed cells"
    )
    _add(commands, "trace")
    _add(commands, "validation", "judge and report the study of experiments/validation")
    command = _add(commands, "accuracy", "judge and report the study of experiments/accuracy.sh")
    command.add_argument(
        "--references", type=Path, default=DEFAULT_REFERENCES,
        help="scores of single devices by task",
    )  # fmt: skip
    command.add_argument(
        "--published", type=Path, default=DEFAULT_PUBLISHED.parent,
        help="folder with the papers' cells",
    )  # fmt: skip
    _add(commands, "beyond", "judge and report the study of experiments/beyond")
    study = commands.add_parser("scale", help="tables and figures of experiments/scale")
    _add_places(study)
    pair = commands.add_parser("micro", help="compare two files of experiments/micro/run.sh")
    pair.add_argument("first", metavar="A.json", type=Path, help="as it was")
    pair.add_argument("second", metavar="B.json", type=Path, help="as it is now")
    return parser


def _add(commands, name, text=None):
    text = text or f"judge and report the {name.upper()} reproduction"
    command = commands.add_parser(name, help=text)
    _add_places(command)
    command.add_argument(
        "--schema", type=Path, default=DEFAULT_SCHEMA, help="JSON Schema of the records"
    )
    return command


def _add_places(command):
    command.add_argument(
        "--results", required=True, type=Path, help="folder with the *.jsonl files"
    )
    command.add_argument("--out", required=True, type=Path, help="folder for figures and tables")
