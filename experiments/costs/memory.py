"""Reads from the kernel what the ranks of a run hold while passes run; memory.sh says how to call.

Private memory of a rank: the dirty pages that are mapped by it alone, anonymous ones (heap, stacks,
generated code, written data of libraries) and those of files and of MPI's segments; not the node
memory, in which one rank writes what all ranks read. Clean pages of files (code) belong to the page
cache. Shared memory of the node: the resident pages of the node memory and of MPI's segments in
/dev/shm, each counted once.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import namedtuple
from pathlib import Path

STRATEGIES = {
    "voltage": [],
    "prism": ["--segments", "5"],
    "astra": [],
    "trace-b": [],
    "trace-nb": [],
    "tensor": [],
    "pipeline": [],
}
PRIVATE_LIMIT_B, SHARED_LIMIT = 12_000_000, 1.05
RANK_VARIABLE = b"OMPI_COMM_WORLD_RANK="
NODE_MEMORY, MPI_SEGMENT = "/memfd:thinwire", "/dev/shm/"
INTERVAL_S = 0.1
PASSES_READ = (1.0, 0.4)  # seconds before the end over those of all passes: none sees the set-up
FEWEST_SAMPLES = 5

RANGE = re.compile(r"[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \S+\s*(.*)")
FIELD = re.compile(r"(Pss|Private_Dirty):\s+(\d+) kB")

Held = namedtuple("Held", "private shared")  # bytes of one process; its share of what is shared
Sample = namedtuple("Sample", "time_s ranks")  # ranks: {rank: Held}


def held(smaps):
    """What /proc/PID/smaps says."""
    private = shared = 0
    name = ""
    for line in smaps.splitlines():
        if found := RANGE.match(line):
            name = found[1]
        elif found := FIELD.match(line):
            kind, size = found[1], int(found[2]) * 1024
            if kind == "Pss" and name.startswith((NODE_MEMORY, MPI_SEGMENT)):
                shared += size
            if kind == "Private_Dirty" and not name.startswith(NODE_MEMORY):
                private += size
    return Held(private, shared)


def children(process):
    """Of a process and of theirs, those that exist."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue  # ended meanwhile
        if parent == process:
            child = int(path.parent.name)
            found += [child, *children(child)]
    return found


def rank_of(process_folder):
    """Its number, as Open MPI tells it."""
    for entry in (process_folder / "environ").read_bytes().split(b"\0"):
        if entry.startswith(RANK_VARIABLE):
            return int(entry.removeprefix(RANK_VARIABLE))
    return None


def read_ranks(launcher, program):
    """Rank -> what it holds, of the ranks that run."""
    ranks = {}
    for process in children(launcher):
        folder = Path(f"/proc/{process}")
        try:
            if (folder / "exe").resolve() != program:
                continue
            rank = rank_of(folder)
            if rank is not None:
                ranks[rank] = held((folder / "smaps").read_text())
        except OSError:
            continue
    return ranks


def run(settings, strategy, folder):
    """The record of a run, samples of its ranks' memory, and when it ended."""
    results = Path(folder) / f"{strategy}.jsonl"
    command = [
        settings.thinwire, "run", "--model", settings.model, "--strategy", strategy,
        *STRATEGIES[strategy], "--devices", str(settings.devices),
        "--threads", str(settings.threads), "--iterations", str(settings.iterations),
        "--json", str(results),
    ]  # fmt: skip
    samples = []
    program = Path(settings.thinwire).resolve()
    with tempfile.TemporaryFile("w+") as output:  # not a pipe: nobody reads while it runs
        process = subprocess.Popen(command, stdout=output, stderr=output)
        while process.poll() is None:
            samples.append(Sample(time.monotonic(), read_ranks(process.pid, program)))
            time.sleep(INTERVAL_S)
        if process.returncode != 0:
            output.seek(0)
            sys.exit(f"error: {' '.join(command)}\n{output.read()}")
    return json.loads(results.read_text()), samples, time.monotonic()


def passes_s(record):
    """Seconds that the measured passes took by the wall: devices compute in turn."""
    time_section = record["time"]
    compute_s = sum(device["compute_s"]["mean"] for device in time_section["links"][0]["per_device"])
    iterations = len(time_section["links"][0]["latency_s"]["samples"])
    return iterations * compute_s * time_section["emulation_overhead"]


def during_passes(samples, end_s, duration_s, devices):
    """The samples that show every rank in the middle of the passes."""
    first_s, last_s = (end_s - part * duration_s for part in PASSES_READ)
    return [s for s in samples if first_s <= s.time_s <= last_s and len(s.ranks) == devices]


def largest_private(samples):
    """Of each rank over the samples, in the order of their numbers."""
    return [
        max(sample.ranks[rank].private for sample in samples) for rank in sorted(samples[0].ranks)
    ]


def shared(samples):
    return statistics.median(
        sum(rank.shared for rank in sample.ranks.values()) for sample in samples
    )


def packed_bytes(strategy, model_bytes, record):
    """What the node holds once, by formula: the model, and what the strategy adds to it: codebooks,
    K/V buffers, or the slices of tensor parallelism, which make up the model once more."""
    devices = record["memory"]["per_device"]
    slices = model_bytes if strategy == "tensor" else 0
    return model_bytes + slices + devices["codebooks_bytes"][0] + devices["buffers_bytes"][0]


def judge(strategy, record, samples, model_bytes):
    """Figures of a strategy beside their limits."""
    activations = record["memory"]["per_device"]["activations_bytes"]
    private = largest_private(samples)
    worst = max(p - a for p, a in zip(private, activations))
    node, packed = shared(samples), packed_bytes(strategy, model_bytes, record)
    return {
        "strategy": strategy,
        "samples": len(samples),
        "private_bytes": private,
        "activations_bytes": activations,
        "private_beside_activations_bytes": worst,
        "shared_bytes": node,
        "packed_bytes": packed,
        "shared_over_packed": node / packed,
        "passed": worst <= PRIVATE_LIMIT_B and node / packed <= SHARED_LIMIT,
    }


def model_weights_bytes(settings):
    done = subprocess.run(
        [settings.thinwire, "predict", "--model", settings.model, "--strategy", "single",
         "--json", "-"],
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"error: {done.stderr}")
    return json.loads(done.stdout)["memory"]["weights_bytes"]


def measure(settings, strategy, model_bytes, folder):
    record, samples, end_s = run(settings, strategy, folder)
    read = during_passes(samples, end_s, passes_s(record), settings.devices)
    if len(read) < FEWEST_SAMPLES:
        sys.exit(f"error: {strategy}: {len(read)} samples while passes ran (raise --iterations)")
    return judge(strategy, record, read, model_bytes)


def show(figure):
    private = figure["private_beside_activations_bytes"]
    print(
        f"{figure['strategy']:<9} {max(figure['private_bytes']) / 1e6:8.1f} "
        f"{max(figure['activations_bytes']) / 1e6:12.1f} {private / 1e6:8.1f} "
        f"(<= {PRIVATE_LIMIT_B / 1e6:.0f}) {figure['shared_bytes'] / 1e6:9.1f} "
        f"{figure['packed_bytes'] / 1e6:8.1f} {figure['shared_over_packed']:6.3f} "
        f"(<= {SHARED_LIMIT}) {figure['samples']:8d}  {'pass' if figure['passed'] else 'FAIL'}",
        flush=True,
    )


def strategy_list(text):
    names = text.split(",")
    for name in names:
        if name not in STRATEGIES:
            raise argparse.ArgumentTypeError(f"{name} is none of {', '.join(STRATEGIES)}")
    return names


def parse():
    parser = argparse.ArgumentParser(description="memory of ranks while they run passes")
    parser.add_argument("--thinwire", required=True, help="the program")
    parser.add_argument("--model", default="vit-base-16", help="a preset or a folder")
    parser.add_argument("--devices", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--strategies", type=strategy_list, default=list(STRATEGIES))
    parser.add_argument("--iterations", type=int, default=15)
    parser.add_argument("--json", help="a file for the figures")
    return parser.parse_args()


def main():
    settings = parse()
    print(f"{settings.devices} ranks x {settings.threads} threads, MB; private: "
          "the most of any rank while passes run\n"
          "strategy   private  activations   beside them        shared   packed  ratio")
    model_bytes = model_weights_bytes(settings)
    with tempfile.TemporaryDirectory() as folder:
        figures = []
        for strategy in settings.strategies:
            figures.append(measure(settings, strategy, model_bytes, folder))
            show(figures[-1])
    if settings.json:
        Path(settings.json).write_text(json.dumps(figures, indent=1) + "\n")
    sys.exit(0 if all(figure["passed"] for figure in figures) else 1)


if __name__ == "__main__":
    main()
