"""What the scripts share: how they end, and options that every one of them has."""

import argparse
import os
import sys
from pathlib import Path

from thinwire_prepare.errors import InputError


def run(work):
    """Exit status of `work()`: 0, or 2 with one line on standard error for what a user can mend."""
    try:
        work()
    except (InputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130
    return 0


def make_parser(description, examples, **options):
    """A parser whose --help keeps the lines of `description` and `examples` as they are."""
    return argparse.ArgumentParser(
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        **options,
    )


def add_output(parser):
    parser.add_argument("--out", required=True, metavar="FILE", help="data file, .safetensors")
    parser.add_argument("--source", default="", metavar="TEXT", help="where the data comes from")
    parser.add_argument(
        "--licence", default="not stated", metavar="TEXT", help="under which terms it may be used"
    )


def output_path(text):
    """--out as a path. Raises InputError before any work is done for what cannot be written."""
    path = Path(text)
    if path.suffix != ".safetensors":
        raise InputError(f"--out={text}: data files end in .safetensors")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise InputError(f"--out={text}: {path.parent} is not a folder that can be written")
    return path


def whole_number(least):
    """For argparse: a whole number of at least `least`."""

    def read(text):
        try:
            value = int(text)
        except ValueError:
            value = None
        if value is None or value < least:
            raise argparse.ArgumentTypeError(f"{text!r} (a whole number from {least} on is needed)")
        return value

    return read
