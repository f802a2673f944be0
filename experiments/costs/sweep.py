"""Times sweeps by the clock on the wall; sweep.sh says how to call.

Overhead of a point: between its record and the one before, less its iterations and warm-up at the
wall time of its measured iterations (so that what makes the first ones slow counts as overhead),
and with its share of planning, which the command and its job each do.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OVERHEAD_LIMIT_S = 0.050
CURVE_LIMIT = 1.2  # of the wall time of one of its points
FEWEST_SAMPLES = 15
POLL_S = 0.001
PLANNED_POINTS, PLANS = 400, 2
LEVELS = 5


def document(settings, folder, name, points, **base):
    path = Path(folder) / f"{name}.json"
    common = {
        "model": settings.model, "devices": settings.devices, "threads": settings.threads,
        "iterations": settings.iterations, "warmup": 1,
    }  # fmt: skip
    path.write_text(json.dumps({"base": {**common, **base}, "points": points}), encoding="utf-8")
    return path


def coded_points(count):
    """Points that share a model and a codebook, and no execution."""
    return [{"level": i % LEVELS, "repeat": i // LEVELS} for i in range(count)]


def curve_points(settings, one_by_one):
    """A rate each; a repetition of its own keeps a point from sharing an execution."""
    step = 900 / max(1, settings.rates - 1)
    rates = [round(100 + step * i) for i in range(settings.rates)]
    return [
        {"rate": f"{rate}Mbps", "repeat": 1 + i if one_by_one else 0}
        for i, rate in enumerate(rates)
    ]


def add_arrivals(arrivals, count, now_s):
    """So that there are `count`: records seen at once came evenly since the one before."""
    before_s, new = (arrivals[-1] if arrivals else 0), count - len(arrivals)
    arrivals.extend(before_s + (now_s - before_s) * (i + 1) / new for i in range(new))


def sweep(settings, path):
    """Records, the time of each in the file, and the wall time of all."""
    results = path.with_suffix(".jsonl")
    results.unlink(missing_ok=True)
    command = [settings.thinwire, "sweep", str(path), "--json", str(results)]
    arrivals, size = [], 0
    with tempfile.TemporaryFile("w+") as output:
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=output, stderr=output)
        while process.poll() is None:
            grown = results.stat().st_size if results.exists() else 0
            if grown != size:
                now_s = time.monotonic() - start
                add_arrivals(arrivals, results.read_bytes().count(b"\n"), now_s)
                size = grown
            time.sleep(POLL_S)
        wall_s = time.monotonic() - start
        if process.returncode != 0:
            output.seek(0)
            sys.exit(f"error: {' '.join(command)}\n{output.read()}")
        add_arrivals(arrivals, results.read_bytes().count(b"\n"), wall_s)
    return [json.loads(line) for line in results.read_text().splitlines()], arrivals, wall_s


def iteration_s(record):
    """Wall time of a measured iteration: devices compute in turn."""
    devices = record["time"]["links"][0]["per_device"]
    compute_s = sum(device["compute_s"]["mean"] for device in devices)
    return compute_s * record["time"]["emulation_overhead"]


def overheads_s(records, arrivals):
    """Of every point but the first, which brings model and codebooks along."""
    found = []
    for record, before, after in zip(records[1:], arrivals, arrivals[1:]):
        iterations = record["spec"]["iterations"] + record["spec"]["warmup"]
        found.append(after - before - iterations * iteration_s(record))
    return found


def planning_s(settings, folder):
    """A point's, from dry runs of many points and of one."""

    def dry_run_s(count):
        path = document(settings, folder, "planned", coded_points(count), strategy="trace-b")
        start = time.monotonic()
        subprocess.run(
            [settings.thinwire, "sweep", str(path), "--dry-run"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return time.monotonic() - start

    return (dry_run_s(PLANNED_POINTS) - dry_run_s(1)) / (PLANNED_POINTS - 1)


def measure_overhead(settings, folder):
    path = document(settings, folder, "points", coded_points(settings.points), strategy="trace-b")
    records, arrivals, _ = sweep(settings, path)
    planning = PLANS * planning_s(settings, folder)
    return [overhead + planning for overhead in overheads_s(records, arrivals)]


def require_one_execution(records, count):
    """The curve's points show the same compute samples under links of their own."""
    shared = [record["time"].get("shared_execution", {}).get("points") for record in records]
    samples = [
        [device["compute_s"]["samples"] for device in record["time"]["links"][0]["per_device"]]
        for record in records
    ]
    waits = [record["time"]["links"][0]["wait_s"]["mean"] for record in records]
    if shared != [count] * count or any(sample != samples[0] for sample in samples):
        sys.exit("error: the curve did not come from one execution")
    if sorted(waits, reverse=True) != waits or waits[0] == waits[-1]:
        sys.exit("error: faster links of the curve do not wait less")


def measure_curve(settings, folder):
    """Wall times of the ways to a curve, [round] each, in turn."""
    points = curve_points(settings, one_by_one=False)
    ways = {
        "one point": document(settings, folder, "one", points[:1], strategy="voltage"),
        "curve": document(settings, folder, "curve", points, strategy="voltage"),
        "one by one": document(
            settings, folder, "each", curve_points(settings, one_by_one=True), strategy="voltage"
        ),
    }
    walls = {way: [] for way in ways}
    for i in range(settings.rounds):
        for way in list(ways) if i % 2 == 0 else reversed(list(ways)):
            records, _, wall_s = sweep(settings, ways[way])
            if way == "curve":
                require_one_execution(records, settings.rates)
            walls[way].append(wall_s)
    return walls


def quarters(samples):
    low, _, high = statistics.quantiles(samples, n=4)
    return low, high


def show(name, samples, scale, unit, limit=None):
    """A line; whether the median is within the limit."""
    median, (low, high) = statistics.median(samples), quarters(samples)
    passed = limit is None or median <= limit
    target = "" if limit is None else f"<= {limit * scale:g} {unit}".rstrip()
    verdict = "" if limit is None else ("pass" if passed else "FAIL")
    print(
        f"{name:<44} {median * scale:8.3f} {unit:<2} ({low * scale:.3f} .. {high * scale:.3f}, "
        f"n = {len(samples)})  {target:>10}  {verdict}".rstrip(),
        flush=True,
    )
    return passed


def ratios(above, below):
    return [a / b for a, b in zip(above, below)]


def at_least(fewest):
    def parse(text):
        number = int(text)
        if number < fewest:
            raise argparse.ArgumentTypeError(f"{text} (at least {fewest})")
        return number

    return parse


def parse():
    parser = argparse.ArgumentParser(description="what a sweep costs beside its iterations")
    parser.add_argument("--thinwire", required=True, help="the program")
    parser.add_argument("--model", default="vit-base-16", help="a preset or a folder")
    parser.add_argument("--devices", type=at_least(2), default=2)
    parser.add_argument("--threads", type=at_least(1), default=2)
    parser.add_argument("--points", type=at_least(FEWEST_SAMPLES + 1), default=40)
    parser.add_argument("--rates", type=at_least(2), default=10)
    parser.add_argument("--rounds", type=at_least(2), default=15, help="of the curve")
    parser.add_argument("--iterations", type=at_least(1), default=3)
    parser.add_argument("--json", help="write all samples to this file")
    settings = parser.parse_args()
    settings.thinwire = os.path.abspath(settings.thinwire)
    return settings


def main():
    settings = parse()
    with tempfile.TemporaryDirectory() as folder:
        overheads = measure_overhead(settings, folder)
        passed = show("fixed overhead of a point", overheads, 1e3, "ms", OVERHEAD_LIMIT_S)
        walls = measure_curve(settings, folder)
    for way, samples in walls.items():
        show(f"{settings.rates} rates, {way}" if way != "one point" else way, samples, 1, "s")
    curve = ratios(walls["curve"], walls["one point"])
    passed = show("curve over one point", curve, 1, "", CURVE_LIMIT) and passed
    show("one by one over curve", ratios(walls["one by one"], walls["curve"]), 1, "")
    if settings.json:
        report = {"overhead_s": overheads, "wall_s": walls, "passed": passed}
        Path(settings.json).write_text(json.dumps(report) + "\n", encoding="utf-8")
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
