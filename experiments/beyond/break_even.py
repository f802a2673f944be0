"""The slowest link on which splitting still beats one device, of every point of a document.

A document has a base and points as `thinwire predict` takes them; a JSON list in a point is one
point an entry. Latencies are those of `thinwire predict`, so devices need a stated rate. Every
point is predicted at a few link rates at once, then at as many between the two where it stops winning,
until the rate is known to TOLERANCE. The file that is written has a record a point with two link
settings, the rate found and an unlimited one; a point that does not win on an unlimited link has
that one only. run.sh calls this.

A pass with micro-batches answers as many inputs: what is compared is its time an input.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile

SLOWEST, FASTEST = 10.0, 1e12  # bit/s
RATES_AT_ONCE = 16
TOLERANCE = 1e-5
ROUNDING = 1e-12  # of a time: equal times are no win
UNLIMITED = "unlimited"


def points_of(document):
    """Options of each point, lists multiplied out."""
    for point in document["points"]:
        options = {**document.get("base", {}), **point}
        values = [value if isinstance(value, list) else [value] for value in options.values()]
        for chosen in itertools.product(*values):
            yield dict(zip(options, chosen))


def predict(thinwire, points, rates):
    """A record a point; `rates`: a list of link rates for each point."""
    document = {
        "name": "break-even",
        "points": [{**point, "rate": ",".join(own)} for point, own in zip(points, rates)],
    }
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(document, file)
        file.flush()
        done = subprocess.run(
            [thinwire, "predict", file.name, "--json", "-"], capture_output=True, text=True
        )
    if done.returncode != 0:
        sys.exit(done.stderr.strip() or f"error: thinwire predict ended with {done.returncode}")
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if len(records) != len(points):
        sys.exit(f"error: {len(points)} points made {len(records)} records (are two equal?)")
    return records


def input_s(record):
    """Time of one input at each link setting."""
    inputs = record["spec"].get("micro-batches") or 1
    return [link["latency_s"]["p50"] / inputs for link in record["time"]["links"]]


def bracket(rates, times, alone_s):
    """(rate that does not win, rate that wins) next to each other, from the fast end downwards."""
    places = range(len(rates))
    losing = max((i for i in places if not wins(times[i], alone_s)), default=0)
    return rates[losing], rates[min(losing + 1, len(rates) - 1)]


def wins(time_s, alone_s):
    return time_s < alone_s * (1 - ROUNDING)


def search(ask, count, alone_s):
    """The slowest rate at which each of `count` points wins; None where none does.

    ask: from a list of rates a point to a list of times for each of them
    alone_s: time of the single device, a point
    """
    best = ask([[None]] * count)
    open_points = [i for i in range(count) if wins(best[i][0], alone_s[i])]
    ends = {i: (SLOWEST, FASTEST) for i in open_points}
    while any(high / low > 1 + TOLERANCE for low, high in ends.values()):
        grids = [spaced(*ends[i]) if i in ends else [None] for i in range(count)]
        times = ask(grids)
        for i in open_points:
            ends[i] = bracket(grids[i], times[i], alone_s[i])
    return [ends[i][1] if i in ends else None for i in range(count)]


def spaced(low, high):
    """Rates in equal ratios from low to high."""
    ratio = (high / low) ** (1 / (RATES_AT_ONCE - 1))
    return [low * ratio**i for i in range(RATES_AT_ONCE - 1)] + [high]


def rate_text(rate):
    """For an option; None is an unlimited link."""
    return UNLIMITED if rate is None else f"{rate:.9g}bps"


def alone_key(options):
    """What a point shares with the single device that it is held against."""
    return tuple(str(options.get(name)) for name in ("model", "tokens", "device-gflops", "dtype"))


def find(thinwire, points):
    """The records of all points at their break-even rates, those of single devices first."""
    alone = [point for point in points if point["strategy"] == "single"]
    split = [point for point in points if point["strategy"] != "single"]

    def ask(points, rates):
        texts = [[rate_text(rate) for rate in own] for own in rates]
        return predict(thinwire, points, texts)

    known = {alone_key(point) for point in alone}
    missing = next((point for point in split if alone_key(point) not in known), None)
    if missing:
        sys.exit(f"error: no point with strategy single for {missing}")
    singles = ask(alone, [[None]] * len(alone))
    times = {alone_key(point): input_s(record)[0] for point, record in zip(alone, singles)}
    alone_s = [times[alone_key(point)] for point in split]
    found = search(lambda rates: [input_s(r) for r in ask(split, rates)], len(split), alone_s)
    rates = [[None] if rate is None else [rate, None] for rate in found]
    return singles + ask(split, rates)


def main():
    parser = argparse.ArgumentParser(description="Finds the slowest link that is worth a split.")
    parser.add_argument("documents", nargs="+", metavar="DOC.json")
    parser.add_argument("--device-gflops", help="of every device, instead of the documents' own")
    parser.add_argument("--json", required=True, metavar="FILE", help="records are appended to it")
    options = parser.parse_args()
    points = []
    for path in options.documents:
        with open(path, encoding="utf-8") as file:
            points += points_of(json.load(file))
    if options.device_gflops:
        points = [{**point, "device-gflops": options.device_gflops} for point in points]
    records = find(os.environ.get("THINWIRE", "build/release/src/cli/thinwire"), points)
    with open(options.json, "a", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    print(f"{len(records)} points")


if __name__ == "__main__":
    main()
