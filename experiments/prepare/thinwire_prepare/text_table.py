"""Rows of a text file: one sentence, a pair, with or without an answer, from columns of a TSV or
CSV, keys of JSON lines, or plain lines."""

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from thinwire_prepare.errors import InputError

csv.field_size_limit(1 << 24)


@dataclass(frozen=True)
class Columns:
    """Names of columns, or numbers from 1 on for a table without header."""

    first: str
    second: Optional[str] = None
    label: Optional[str] = None
    score: Optional[str] = None


@dataclass(frozen=True)
class Row:
    place: str  # file and line, for messages
    first: str
    second: Optional[str] = None
    label: Optional[str] = None
    score: Optional[str] = None


@dataclass(frozen=True)
class GlueTask:
    columns: Columns
    labels: tuple = ()  # in the order of their numbers; empty: the file has numbers
    has_header: bool = True


# Columns of the TSV files of the GLUE benchmark (train.tsv, dev.tsv), numbers of the labels as
# Hugging Face's datasets count them.
GLUE = {
    "cola": GlueTask(Columns("4", label="2"), has_header=False),
    "sst2": GlueTask(Columns("sentence", label="label")),
    "mrpc": GlueTask(Columns("#1 String", "#2 String", label="Quality")),
    "stsb": GlueTask(Columns("sentence1", "sentence2", score="score")),
    "qqp": GlueTask(Columns("question1", "question2", label="is_duplicate")),
    "mnli": GlueTask(
        Columns("sentence1", "sentence2", label="gold_label"),
        ("entailment", "neutral", "contradiction"),
    ),
    "qnli": GlueTask(
        Columns("question", "sentence", label="label"), ("entailment", "not_entailment")
    ),
    "rte": GlueTask(
        Columns("sentence1", "sentence2", label="label"), ("entailment", "not_entailment")
    ),
    "wnli": GlueTask(Columns("sentence1", "sentence2", label="label")),
}


def read_rows(path, columns, has_header=True):
    """Every row of `path`, a file of one of these endings: .tsv, .csv, .jsonl, .txt (a sentence a
    line). Raises InputError naming file, line and column."""
    path = Path(path)
    readers = {".tsv": _read_table, ".csv": _read_table, ".jsonl": _read_json_lines}
    try:
        if path.suffix == ".txt":
            rows = _read_lines(path, columns)
        elif path.suffix in readers:
            rows = readers[path.suffix](path, columns, has_header)
        else:
            raise InputError(f"{path}: unknown kind (.txt, .tsv, .csv or .jsonl is needed)")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error.reason} at byte {error.start})") from None
    if not rows:
        raise InputError(f"{path}: no rows")
    return rows


def _read_lines(path, columns):
    if columns.second or columns.label or columns.score:
        raise InputError(f"{path}: a .txt has a sentence a line and no columns (.tsv has)")
    lines = path.read_text(encoding="utf-8").splitlines()
    return [
        Row(f"{path}, line {number}", line.strip())
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]


def _read_table(path, columns, has_header):
    with path.open(newline="", encoding="utf-8-sig") as stream:
        if path.suffix == ".tsv":  # GLUE's files have quotes inside of sentences, never around
            reader = csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        else:
            reader = csv.reader(stream)
        header = next(reader, []) if has_header else None
        find = _Finder(path, columns, header)
        return [find(fields, f"{path}, line {reader.line_num}") for fields in reader if fields]


class _Finder:
    """Takes the wanted columns out of the fields of a line."""

    def __init__(self, path, columns, header):
        self.at = {
            option: self._index(path, option, name, header)
            for option, name in vars(columns).items()
            if name is not None
        }

    def __call__(self, fields, place):
        last = max(self.at.values())
        if len(fields) <= last:
            raise InputError(f"{place}: {len(fields)} columns (column {last + 1} is needed)")
        return Row(place, **{option: fields[index] for option, index in self.at.items()})

    @staticmethod
    def _index(path, option, name, header):
        if header is not None and name in header:
            return header.index(name)
        if name.isdecimal() and int(name) >= 1:
            return int(name) - 1
        if header is None:
            raise InputError(f"--{option}={name}: {path} has no header (a column number is needed)")
        raise InputError(f"--{option}={name}: no such column in {path} ({', '.join(header)})")


def _read_json_lines(path, columns, _):
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"{place}: not JSON ({error.msg})") from None
        rows.append(_from_record(record, columns, place))
    return rows


def _from_record(record, columns, place):
    if not isinstance(record, dict):
        raise InputError(f"{place}: not a JSON object")
    values = {}
    for option, name in vars(columns).items():
        if name is None:
            continue
        if record.get(name) is None:
            raise InputError(f'--{option}={name}: {place} has no "{name}" ({", ".join(record)})')
        values[option] = str(record[name])
    return Row(place, **values)
