"""Counts the instructions of thinwire's own code in passes of tiny models, under callgrind, and
holds them against reference.json: what a machine is doing besides does not change them.

    python3 tests/instructions/check.py             exit status 0 as in the reference, 1 not,
                                                    77 counted but not comparable, or no valgrind
    python3 tests/instructions/check.py --update    makes what is counted the reference

Code of other libraries (oneDNN's products, the C library) is left out: which variant of it runs
depends on the machine. How often oneDNN, OpenMP and the heap are called is held as well, exactly.
With another compiler or oneDNN than the reference's, the number of products alone is compared.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from callgrind import read_dump

HERE = Path(__file__).resolve().parent
PROGRAM = HERE.parents[1] / "build/release/tests/instructions/counted_passes"
REFERENCE = HERE / "reference.json"
SCHEMA = "thinwire.instructions/1"
PASSES = 3
TOLERANCE = 0.03  # equal builds count the same to some instructions
GOOD, BAD, INCOMPARABLE = 0, 1, 77
# Calls that are counted, by how their names begin; and those that no build changes.
LIBRARIES = ("dnnl_", "GOMP_", "__kmpc_", "operator new")
ANY_BUILD = ("dnnl_primitive_execute",)
NAMED_SHARE = 0.005  # functions below this share of a case are not named
# The innermost loops of our own matrix products take most of a pass; they are held by themselves,
# or nobody would see what else grows.
PRODUCT_LOOPS = re.compile(r"\bProductTile\b")
PLAYBACK = "thinwire::validation::"  # of what peers sent: work of this program, not of a pass
# Valgrind knows no AVX-512, and multiplies and adds in one instruction only by a slow detour.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "ONEDNN_MAX_CPU_ISA": "AVX", "DNNL_MAX_CPU_ISA": "AVX"}
CALLGRIND = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--compress-strings=no",
             "--compress-pos=no", "--dump-line=no"]  # fmt: skip


class CannotCount(Exception):
    """Why nothing can be counted here; the text is one line for people."""


class Failed(Exception):
    """The counted program did not end well."""


def count(program, wasted=0):
    """Everything that a reference holds, of a program as it is now.

    wasted: instructions that every pass is made to take for nothing
    """
    if shutil.which("valgrind") is None:
        raise CannotCount("valgrind is not installed")
    program = Path(program).resolve()  # as callgrind names objects
    if not program.exists():
        raise CannotCount(f"{program} is not built (it needs x86-64 and valgrind's headers)")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "dump")
        done = subprocess.run(
            [*CALLGRIND, f"--callgrind-out-file={out}", program, str(PASSES), str(wasted)],
            env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode != 0:
            raise Failed(f"{program} failed under valgrind:\n{done.stderr[-3000:]}")
        dumps = [read_dump(path, program) for path in Path(folder).glob("dump.*")]
    dumps.sort(key=lambda dump: dump.number)
    cases = {dump.name: case_of(dump) for dump in dumps if dump.name}
    if not cases or not all(case["instructions"] for case in cases.values()):
        raise Failed(f"callgrind saw no instructions of {program}")
    return {"schema": SCHEMA, "built_from": json.loads(done.stdout), "cases": cases}


def case_of(dump):
    """A dump's figures of one pass: instructions, those of large functions, calls of libraries."""
    ours = Counter({n: spent for n, spent in dump.functions.items() if not n.startswith(PLAYBACK)})
    products = sum(spent for name, spent in ours.items() if PRODUCT_LOOPS.search(name))
    others = sum(ours.values()) - products
    functions = {
        name: round(spent / PASSES)
        for name, spent in ours.most_common()
        if spent >= NAMED_SHARE * others
    }
    calls = {
        name: times / PASSES
        for name, times in sorted(dump.calls.items())
        if name.startswith(LIBRARIES)
    }
    return {
        "instructions": round(others / PASSES),
        "products": round(products / PASSES),
        "functions": functions,
        "calls": calls,
    }


def compare(counted, reference):
    """(status, lines for people): what is more or less than in the reference."""
    if counted["built_from"] == reference["built_from"]:
        return compare_cases(counted["cases"], reference["cases"], LIBRARIES, TOLERANCE)
    status, lines = compare_cases(counted["cases"], reference["cases"], ANY_BUILD, None)
    differing = "; ".join(
        f"{key} {counted['built_from'].get(key)}, reference {value}"
        for key, value in reference["built_from"].items()
        if counted["built_from"].get(key) != value
    )
    note = f"SKIPPED the instructions: other builds do not compare ({differing})"
    return status or INCOMPARABLE, [*lines, note]


def compare_cases(counted, reference, libraries, tolerance):
    """As compare(); tolerance None: calls of `libraries` alone."""
    lines, is_good = [], True
    for name in [*reference, *(name for name in counted if name not in reference)]:
        if name not in counted or name not in reference:
            where = "reference" if name in counted else "program"
            found = [f"case is not in the {where}"]
        else:
            found = changed_calls(counted[name]["calls"], reference[name]["calls"], libraries)
            if tolerance is not None:
                found += changed_instructions(counted[name], reference[name], tolerance)
        is_good = is_good and not found
        lines.append(line_of(name, counted.get(name), reference.get(name), found))
        lines += [f"      {text}" for text in found]
    return (GOOD if is_good else BAD), lines


def line_of(name, counted, reference, found):
    if counted is None or reference is None:
        return f"FAIL  {name}"
    now, then = counted["instructions"], reference["instructions"]
    products = f"; in products {counted['products']}, reference {reference['products']}"
    return (
        f"{'FAIL' if found else 'pass'}  {name}: {now} instructions a pass, "
        f"reference {then}, ratio {now / then:.4f}" + (products if counted["products"] else "")
    )


def changed_instructions(counted, reference, tolerance):
    """What to say about a case's instructions; empty within the tolerance."""
    lines = []
    for key, is_product in (("instructions", False), ("products", True)):
        now, then = counted[key], reference[key]
        if abs(now - then) <= tolerance * then:
            continue
        percent = f"{100 * (now / then - 1):+.1f} %" if then else f"{now:+d}"
        advice = "more" if now > then else "fewer; --update takes the gain in"
        lines.append(f"{key}: {percent}, allowed {100 * tolerance:g} %: {advice}")
        lines += changed_functions(counted, reference, is_product, 1 if now > then else -1)
    return lines


def changed_functions(counted, reference, is_product, sign):
    """The five functions that grew (sign 1) or shrank (-1) most."""
    change = {
        name: counted["functions"].get(name, 0) - reference["functions"].get(name, 0)
        for name in {**reference["functions"], **counted["functions"]}
        if bool(PRODUCT_LOOPS.search(name)) == is_product
    }
    ordered = sorted(change, key=lambda name: -sign * change[name])
    return [f"{change[name]:+10d}  {name}" for name in ordered[:5] if sign * change[name] > 0]


def changed_calls(counted, reference, libraries):
    """What to say about the calls of libraries."""
    changed = {
        name: (counted.get(name, 0), reference.get(name, 0))
        for name in sorted({*counted, *reference})
        if name.startswith(libraries) and counted.get(name, 0) != reference.get(name, 0)
    }
    return [
        f"{name} is called {now:g} times a pass, reference {then:g}"
        for name, (now, then) in changed.items()
    ]


def load_reference(path):
    """A reference. Raises SystemExit with status 2 when the file is none."""
    try:
        reference = json.loads(Path(path).read_text(encoding="utf-8"))
        if reference["schema"] != SCHEMA:
            raise ValueError(f"schema {reference['schema']!r}, expected {SCHEMA!r}")
        return reference
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"error: {path}: {error!r}", file=sys.stderr)
        raise SystemExit(2) from error


def parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", type=Path, default=PROGRAM)
    parser.add_argument("--reference", type=Path, default=REFERENCE)
    parser.add_argument("--update", action="store_true", help="write the reference")
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parse(arguments)
    reference = None if options.update else load_reference(options.reference)
    try:
        counted = count(options.program)
    except CannotCount as reason:
        print(f"SKIPPED: {reason}")
        return INCOMPARABLE
    except Failed as reason:
        print(f"FAIL  {reason}")
        return BAD
    if options.update:
        options.reference.write_text(json.dumps(counted, indent=1) + "\n", encoding="utf-8")
        print(f"wrote {options.reference}: {len(counted['cases'])} cases")
        return GOOD
    status, lines = compare(counted, reference)
    print("\n".join(lines))
    return status


if __name__ == "__main__":
    sys.exit(main())
