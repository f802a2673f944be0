"""Which pictures there are and what class each is of."""

import csv
from dataclasses import dataclass
from pathlib import Path

from thinwire_prepare.errors import InputError

ENDINGS = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm"}


@dataclass(frozen=True)
class PictureList:
    files: list  # of Path
    labels: list  # of int, index into `classes`
    classes: list  # of str


def from_folder(folder):
    """A sub-folder a class, in the order of their names; pictures in the order of their paths."""
    folders = sorted(path for path in folder.iterdir() if path.is_dir())
    if not folders:
        raise InputError(f"{folder}: no sub-folders (one a class, named after it, is needed)")
    files, labels = [], []
    for label, class_folder in enumerate(folders):
        found = sorted(p for p in class_folder.rglob("*") if p.suffix.lower() in ENDINGS)
        if not found:
            raise InputError(f"{class_folder}: no pictures ({', '.join(sorted(ENDINGS))})")
        files += found
        labels += [label] * len(found)
    return PictureList(files, labels, [path.name for path in folders])


def from_table(table):
    """A CSV of file,label with that header; files are relative to the table, labels are names or
    numbers. Classes are numbered as they are if all labels are numbers, else in order of name."""
    rows = _read_rows(table)
    names = [name for _, name in rows]
    if all(name.isdecimal() for name in names):
        labels = [int(name) for name in names]
        classes = [str(label) for label in range(max(labels) + 1)]
    else:
        classes = sorted(set(names))
        labels = [classes.index(name) for name in names]
    return PictureList([table.parent / file for file, _ in rows], labels, classes)


def _read_rows(table):
    try:
        with table.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.DictReader(stream)
            rows = [(reader.line_num, row.get("file"), row.get("label")) for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{table}: not a CSV file in UTF-8 ({error})") from None
    if not {"file", "label"} <= set(reader.fieldnames or []):
        raise InputError(
            f"{table}: columns {reader.fieldnames} (a first line with file,label is needed)"
        )
    if not rows:
        raise InputError(f"{table}: no rows under the header")
    for line, file, label in rows:
        if not file or not label:
            raise InputError(f"{table}, line {line}: file or label is empty")
        if not (table.parent / file).is_file():
            raise InputError(f"{table}, line {line}: {file} is not a file beside the table")
    return [(file, label) for _, file, label in rows]


def list_pictures(place):
    """`place` is a folder or a CSV file."""
    path = Path(place)
    if path.is_dir():
        return from_folder(path)
    if path.is_file():
        return from_table(path)
    raise InputError(f"{place}: neither a folder of pictures nor a CSV of file,label")
