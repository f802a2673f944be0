"""Reads result files: one JSON object a line, validated, the latest of each point."""

import json
import sys
from pathlib import Path

import jsonschema

from thinwire_analysis.errors import InputError

SCHEMA_NAME = "thinwire.result/1"


def load_schema(path):
    """The JSON Schema that records must satisfy. Raises InputError when it cannot be read."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"schema {path}: {error}") from error


def load_records(path, schema=None, checked=lambda record: record):
    """The records of a .jsonl file, one a point, in the order in which points first appear.

    A point that was repeated (a failed one, after a restart) counts with its latest record. A
    last line without its newline is what an interrupted writer leaves: it is reported on stderr
    and left out. Any other line that is no valid record raises InputError with its number.

    checked: as RecordReader has it
    """
    reader = RecordReader(schema, checked=checked)
    latest = {}
    for number, line in reader.lines(path):
        record = reader.parse(line, path, number)
        latest[record["id"]] = record
    if not latest:
        raise InputError(f"{path}: no records")
    return list(latest.values())


def load_lines(path, name, schema=None):
    """Every object of a .jsonl file whose lines are of the schema `name`, in order."""
    reader = RecordReader(schema, name)
    return [reader.parse(line, path, number) for number, line in reader.lines(path)]


class RecordReader:
    """Reads result files line by line; `schema` None checks nothing but the schema's name.

    checked: what of a record to hold against the schema, for readers that use a part of it
    """

    def __init__(self, schema=None, name=SCHEMA_NAME, checked=lambda record: record):
        self._name = name
        self._checked = checked
        self._validator = jsonschema.Draft202012Validator(schema) if schema is not None else None

    def lines(self, path):
        """(number, text) of each complete line. Raises InputError when the file is unreadable."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: {error}") from error
        return enumerate(_complete_lines(text, path), start=1)

    def parse(self, line, path, number):
        """The record of a line. Raises InputError when it is none."""
        return _parse_line(line, path, number, self._name, self._validator, self._checked)


def without_devices(record):
    """A record without the times of single devices: most of its bulk, to check what is read."""
    try:
        links = [{**link, "per_device": []} for link in record["time"]["links"]]
        return {**record, "time": {**record["time"], "links": links}}
    except (KeyError, TypeError):
        return record  # failed, or for the schema to refuse


def finished(records, path="results"):
    """The records with status `ok`; raises InputError when there is none."""
    ok = [record for record in records if record["status"] == "ok"]
    if not ok:
        raise InputError(f"{path}: none of {len(records)} points finished")
    return ok


def spec_of(record):
    """The record's RunSpec with keys in snake_case, so that flags' dashes read the same."""
    return {key.replace("-", "_"): value for key, value in record["spec"].items()}


def _complete_lines(text, path):
    lines = text.split("\n")
    remainder = lines.pop()
    if remainder:
        try:
            json.loads(remainder)
        except ValueError:
            print(f"{path}: the last line is cut off and left out", file=sys.stderr)
        else:
            lines.append(remainder)
    return lines


def _parse_line(line, path, number, expected, validator, checked):
    try:
        record = json.loads(line)
    except ValueError as error:
        raise InputError(f"{path}, line {number}: no JSON object ({error})") from error
    name = record.get("schema") if isinstance(record, dict) else None
    if name != expected:
        raise InputError(f"{path}, line {number}: schema {name!r}, expected {expected!r}")
    if validator is not None:
        broken = next(iter(validator.iter_errors(checked(record))), None)
        if broken is not None:
            where = "/".join(map(str, broken.absolute_path)) or "the record"
            raise InputError(f"{path}, line {number}: {where}: {broken.message}")
    return record
