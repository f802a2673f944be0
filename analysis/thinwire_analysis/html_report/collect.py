"""Finds what a report can show: records, timelines and compared tables, by folder."""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

from thinwire_analysis.errors import InputError
from thinwire_analysis.records import SCHEMA_NAME, RecordReader, without_devices
from thinwire_analysis.table_cells import load_cells

COMPARED_NAME = "tables.json"


@dataclass
class Folder:
    """One folder's share; figures and tables never mix records of two folders.

    sweeps: {file name: records}, identical records in the first file only
    timelines: {name: path} of files that `thinwire run --trace` wrote
    cells: published cells beside ours (`thinwire tables --format json`), or an empty list
    """

    name: str
    sweeps: dict = field(default_factory=dict)
    timelines: dict = field(default_factory=dict)
    cells: list = field(default_factory=list)

    @property
    def records(self):
        """All records in the order of the files."""
        return [record for records in self.sweeps.values() for record in records]


@dataclass(frozen=True)
class Collection:
    """folders: those that hold anything   notes: one line a file that was left out, and why"""

    folders: list
    notes: list


def collect(paths, schema, progress=lambda text: None):
    """Reads files and folders (recursively). Raises InputError when nothing can be shown.

    progress: called with a line of text before each file is read
    """
    notes, folders = [], {}
    for folder, files in _by_folder(paths).items():
        found = Folder(str(folder))
        _read_sweeps(found, files, schema, notes, progress)
        found.timelines = _timelines(files)
        compared = [path for path in files if path.name == COMPARED_NAME]
        found.cells = load_cells(compared[0]) if compared else []
        if found.sweeps or found.timelines:
            folders[folder] = found
    if not any(folder.sweeps for folder in folders.values()):
        where = ", ".join(str(path) for path in paths)
        raise InputError(
            f"{where}: no records of schema {SCHEMA_NAME} "
            "(*.jsonl files, as written by thinwire --json)" + "".join(f"; {n}" for n in notes[:3])
        )
    return Collection(_named(list(folders.values())), notes)


def _by_folder(paths):
    """{folder: its files}, folders and files in the order of their names."""
    folders = {}
    for path in map(Path, paths):
        if not path.exists():
            raise InputError(f"{path}: no such file or folder")
        found = [path] if path.is_file() else sorted(path.rglob("*"))
        for file in found:
            if file.is_file() and (path.is_file() or file.suffix in (".jsonl", ".json")):
                files = folders.setdefault(file.resolve().parent, [])
                if file not in files:
                    files.append(file)
    return dict(sorted(folders.items()))


def _read_sweeps(folder, files, schema, notes, progress):
    """Small files first: a file that gathers others' records (all.jsonl) then adds none."""
    reader = RecordReader(schema, checked=without_devices)
    seen = set()
    sweeps = {}
    named_by_user = [path for path in files if path.suffix != ".json"]
    for path in sorted(named_by_user, key=lambda path: (path.stat().st_size, path.name)):
        other = _other_content(path)
        if other:
            notes.append(f"{path.name} left out: {other}")
            continue
        progress(f"reading {path}")
        fresh = {}
        for number, line in reader.lines(path):
            digest = hashlib.sha256(line.encode()).digest()
            if digest not in seen:
                seen.add(digest)
                record = reader.parse(line, path, number)
                fresh[record["id"]] = record
        if fresh:
            sweeps[path.name] = list(fresh.values())
        else:
            notes.append(f"{path.name} left out: other files hold all of its records")
    folder.sweeps = dict(sorted(sweeps.items()))


def _other_content(path):
    """Why a file is no result file, judged by its first line; None when it is one."""
    try:
        with path.open(encoding="utf-8") as file:
            first = file.readline()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from error
    if not first.strip():
        return "it is empty"
    try:
        schema = json.loads(first).get("schema")
    except (ValueError, AttributeError):
        return None  # the reader names the line that is at fault
    return None if schema == SCHEMA_NAME else f"schema {schema!r}, not {SCHEMA_NAME}"


def _timelines(files):
    """{name: path} of the chrome-trace files; a file's prefix `timeline-` goes without saying."""
    found = {}
    for path in files:
        if path.suffix != ".json" or path.name == COMPARED_NAME:
            continue
        with path.open(encoding="utf-8", errors="replace") as file:
            head = file.read(200)
        if '"traceEvents"' in head:
            found[path.stem.removeprefix("timeline-")] = path
    return found


def _named(folders):
    """Folders named by the part of their path that tells them apart."""
    parts = [Path(folder.name).parts for folder in folders]
    shared = 0
    if len(folders) > 1:
        while all(len(p) > shared + 1 and p[shared] == parts[0][shared] for p in parts):
            shared += 1
    for folder, own in zip(folders, parts):
        folder.name = "/".join(own[shared:]) if len(folders) > 1 else own[-1]
    return folders
