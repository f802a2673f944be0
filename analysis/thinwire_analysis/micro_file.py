"""Files of experiments/micro: medians and quartiles of every benchmark.

    python3 -m thinwire_analysis.micro_file RAW.json OUT.json

makes one of what Google Benchmark wrote (`--benchmark_out`); needs the standard library alone.
"""

import json
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

from thinwire_analysis.errors import InputError

SCHEMA = "thinwire.micro/1"
# Of Google Benchmark's context; the rest (host name, paths, load) is nobody's business.
CONTEXT = ("thinwire", "git_revision", "cpu", "num_cpus", "threads", "compiler", "onednn", "date")
RATES = {"GFLOP/s": "gflop_per_s", "GB/s": "gb_per_s"}
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
# What a benchmark's name says besides what is measured: which of its clocks counts.
CLOCKS = ("/real_time", "/manual_time")


@dataclass(frozen=True)
class Timing:
    """One benchmark: seconds of a call over the repetitions."""

    median_s: float
    p25_s: float
    p75_s: float
    repetitions: int
    rates: dict  # of RATES' values, at the median


@dataclass(frozen=True)
class MicroFile:
    context: dict
    timings: dict  # Timing by name


def load(path):
    """A file that condense() made. Raises InputError when it is none."""
    document = _read(path)
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        found = document.get("schema") if isinstance(document, dict) else None
        raise InputError(f"{path}: schema {found!r}, expected {SCHEMA!r}")
    try:
        timings = {name: _timing(entry) for name, entry in document["benchmarks"].items()}
        context = dict(document["context"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: broken benchmark ({error!r})") from error
    if not timings:
        raise InputError(f"{path}: no benchmarks")
    return MicroFile(context, timings)


def condense(path):
    """The document of what Google Benchmark wrote. Raises InputError when it is something else."""
    raw = _read(path)
    try:
        repetitions = {}
        for entry in sorted(raw["benchmarks"], key=_place):
            if entry["run_type"] == "iteration" and not entry.get("error_occurred"):
                repetitions.setdefault(_name(entry["run_name"]), []).append(entry)
        context = {key: raw["context"][key] for key in CONTEXT if key in raw["context"]}
        benchmarks = {name: _summary(entries) for name, entries in repetitions.items()}
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: not of Google Benchmark ({error!r})") from error
    if not benchmarks:
        raise InputError(f"{path}: no benchmarks")
    return {"schema": SCHEMA, "context": context, "benchmarks": benchmarks}


def _read(path):
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {error}") from error


def _place(entry):
    # Interleaved repetitions come in any order; benchmarks are numbered as they are written down.
    return entry.get("family_index", 0), entry.get("per_family_instance_index", 0)


def _name(name):
    # A count of iterations or repetitions in the name is how it was measured, too.
    parts = [part for part in name.split("/") if not part.startswith(("iterations:", "repeats:"))]
    name = "/".join(parts)
    for clock in CLOCKS:
        name = name.removesuffix(clock)
    return name


def _summary(entries):
    times = sorted(entry["real_time"] * SECONDS[entry["time_unit"]] for entry in entries)
    quartiles = times * 3
    if len(times) > 1:
        quartiles = statistics.quantiles(times, n=4, method="inclusive")
    summary = {"median_s": quartiles[1], "p25_s": quartiles[0], "p75_s": quartiles[2]}
    summary = {key: float(f"{value:.5g}") for key, value in summary.items()}
    summary["repetitions"] = len(times)
    for counter, key in RATES.items():
        values = [entry[counter] for entry in entries if counter in entry]
        if values:
            summary[key] = float(f"{statistics.median(values):.5g}")
    return summary


def _timing(entry):
    times = [float(entry[key]) for key in ("median_s", "p25_s", "p75_s")]
    if min(times) <= 0:
        raise ValueError(f"times {times}")
    rates = {key: float(entry[key]) for key in RATES.values() if key in entry}
    return Timing(*times, int(entry["repetitions"]), rates)


def main(arguments):
    """Exit status: 0, or 2 for bad usage or input."""
    try:
        raw, out = arguments
        text = json.dumps(condense(raw), indent=1) + "\n"
        Path(out).write_text(text, encoding="utf-8")
    except ValueError:
        print("usage: python3 -m thinwire_analysis.micro_file RAW.json OUT.json", file=sys.stderr)
        return 2
    except (InputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
