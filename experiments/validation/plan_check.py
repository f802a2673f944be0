"""Holds `thinwire plan` against emulated runs; plan_check.sh says how to call it.

Exit status: 0 when the planned order holds for every pair whose predicted latencies differ by more
than the prediction is uncertain (10 %), 1 otherwise.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys

THINWIRE = os.environ.get("THINWIRE", "build/release/src/cli/thinwire")
UNCERTAINTY = 0.10  # of a predicted latency: rates differ between kernels and row counts


def thinwire(*arguments):
    """The JSON of a command that prints it."""
    done = subprocess.run(
        [THINWIRE, *arguments, "--json", "-"], stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout)


def median_s(record):
    return record["time"]["links"][0]["latency_s"]["p50"]


def run(settings, **options):
    options = {"threads": settings.threads, "iterations": settings.iterations, **options}
    flags = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    return thinwire("run", "--model", settings.model, *flags)


def measured_gflops(settings):
    """A device's rate over a whole pass of the single device."""
    record = run(settings, strategy="single")
    return record["operations"]["total_flops"] / median_s(record) / 1e9


def plan_of(settings, rate, devices, speed):
    return thinwire("plan", "--model", settings.model, "--threads", str(settings.threads),
                    "--devices", str(devices), "--rate", rate, *speed)  # fmt: skip


def first_of_each_strategy(plan, count):
    """The best candidates, one a strategy: its other options differ by little."""
    first = {}
    for candidate in plan["candidates"]:
        if not candidate["excluded"]:
            first.setdefault(candidate["options"]["strategy"], candidate)
    return list(first.values())[:count]


def emulated_s(settings, candidate):
    """Emulated latency of the rows that were planned."""
    return median_s(run(settings, **candidate["run"]))


def order_holds(planned_s, emulated):
    """Pairs that the plan tells apart, and how many of them came out in its order."""
    apart = [
        (i, j)
        for i, j in itertools.combinations(range(len(planned_s)), 2)
        if planned_s[j] > planned_s[i] * (1 + UNCERTAINTY)
    ]
    return len(apart), sum(emulated[i] < emulated[j] for i, j in apart)


def name_of(candidate):
    options = dict(candidate["options"])
    name = options.pop("strategy")
    return " ".join([name, *(f"{key}={value}" for key, value in options.items())])


def check(settings, rate, devices, speed):
    candidates = first_of_each_strategy(plan_of(settings, rate, devices, speed), settings.top)
    planned_s = [candidate["latency_s"] for candidate in candidates]
    emulated = [emulated_s(settings, candidate) for candidate in candidates]
    for candidate, planned, actual in zip(candidates, planned_s, emulated):
        print(f"| {devices} | {rate} | {name_of(candidate)} | {1e3 * planned:.1f} "
              f"| {1e3 * actual:.1f} | {actual / planned:.3f} |", flush=True)  # fmt: skip
    return order_holds(planned_s, emulated), [a / p for a, p in zip(emulated, planned_s)]


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--rates", nargs="+", required=True)
    parser.add_argument("--devices", nargs="+", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--top", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--profile")
    return parser.parse_args(arguments)


def main(arguments=None):
    settings = parse(arguments)
    if settings.profile:
        speed = ("--profile", settings.profile)
    else:
        gflops = measured_gflops(settings)
        print(f"single device: {gflops:.1f} GFLOP/s\n")
        speed = ("--device-gflops", f"{gflops:.6g}")
    print("| P | rate | candidate | planned ms | emulated ms | emulated / planned |")
    print("|---|---|---|---|---|---|")
    apart = held = 0
    ratios = []
    for devices, rate in itertools.product(settings.devices, settings.rates):
        (pairs, right), more = check(settings, rate, devices, speed)
        apart, held, ratios = apart + pairs, held + right, ratios + more
    ratios.sort()
    print(f"\nthe planned order holds for {held} of {apart} pairs that differ by more than "
          f"{100 * UNCERTAINTY:.0f} %; emulated / planned: median {ratios[len(ratios) // 2]:.3f}, "
          f"{ratios[0]:.3f} to {ratios[-1]:.3f}")  # fmt: skip
    return 0 if held == apart else 1


if __name__ == "__main__":
    sys.exit(main())
