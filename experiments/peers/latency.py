"""Times single inferences of thinwire beside ONNX Runtime, OpenVINO, zentorch and PyTorch.

Called by latency.sh. Every engine is a process of its own that stays warm; they take turns, one
inference a turn, and who has no turn is stopped. All have the same weights, input and threads.
"""

import argparse
import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

import comparison
from comparison import CEILING, OURS, OURS_FP32
from engines import OUR_ENVIRONMENT, PEERS, ROOM, our_command
from models import CONFIGS, write_folder
from workers import Skipped, Worker, WorkerError

OUTPUTS_WITHIN = {"fp32": 1e-3, "bf16": 1e-1}
WARM_UP_ROUNDS = 2


def names_of(text, known, option, parser):
    names = [name for name in text.split(",") if name]
    for name in names:
        if name not in known:
            parser.error(f"{option}={text}: {name} is not known (known: {', '.join(known)})")
    return names


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worker", required=True, help="thinwire's: thinwire_latency_worker")
    parser.add_argument("--folder", required=True, help="where models and logs are kept")
    parser.add_argument("--models", default=",".join(CONFIGS), help="as a list")
    parser.add_argument("--threads", default="1,2", help="as a list")
    parser.add_argument("--engines", default=",".join(PEERS), help="thinwire's peers, as a list")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--dtype", choices=OUTPUTS_WITHIN, default="fp32")
    parser.add_argument("--json", help="write all seconds and ratios to this file")
    parser.add_argument("--quick", action="store_true", help="five rounds, too few for a verdict")
    options = parser.parse_args()
    options.models = names_of(options.models, CONFIGS, "--models", parser)
    options.engines = names_of(options.engines, PEERS, "--engines", parser)
    cores = len(os.sched_getaffinity(0))
    try:
        threads = [int(number) for number in options.threads.split(",")]
    except ValueError:
        parser.error(f"--threads={options.threads}: numbers with commas between, such as 1,2")
    if not all(1 <= number <= cores for number in threads):
        parser.error(f"--threads={options.threads}: between 1 and {cores}, the cores granted")
    options.threads = threads
    if options.rounds < 1:
        parser.error(f"--rounds={options.rounds}: at least 1")
    if options.quick:
        options.rounds = min(options.rounds, 5)
    return options


def say(text):
    print(text, flush=True)


def prepare(folder, name):
    """Checkpoint, input and ONNX graph of a model, written where they are not up to date."""
    write_folder(folder, CONFIGS[name])
    sources = b"".join((ROOM / source).read_bytes() for source in ("models.py", "onnx_graph.py"))
    wanted, stamp = hashlib.sha256(sources).hexdigest(), folder / "graph-made-by"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    try:
        from onnx_graph import write_graph
    except ImportError as reason:
        say(f"no graph for ONNX Runtime and OpenVINO: {reason}")
        return
    from models import read_model

    write_graph(read_model(folder), folder / "model.onnx")
    stamp.write_text(wanted)


def start_workers(options, folder, threads):
    """The workers that take part, ours first, by name; says of the others why not."""
    log = Path(options.folder) / "logs"
    log.mkdir(exist_ok=True)
    ours = {OURS: options.dtype, **({OURS_FP32: "fp32"} if options.dtype != "fp32" else {})}
    workers = {}
    try:
        for name, dtype in ours.items():
            workers[name] = Worker(name, our_command(options.worker, folder, threads, dtype),
                                   OUR_ENVIRONMENT, log / name).started()
        for name in options.engines:
            engine = PEERS[name]
            if options.dtype == "bf16" and not engine.has_bf16:
                say(f"skipped {name}: computes in fp32 only")
                continue
            command = engine.command(folder, threads, options.dtype)
            try:
                workers[name] = Worker(name, command, engine.environment, log / name).started()
            except Skipped as reason:
                say(f"skipped {name}: {reason}")
    except BaseException:
        end_workers(workers)
        raise
    return workers


def end_workers(workers):
    for worker in workers.values():
        worker.end()


def output_differences(workers):
    """Largest difference of each worker's outputs from ours in fp32, relative to its largest one."""
    outputs = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, worker in workers.items():
            file = Path(folder) / name
            worker.write_output(file)
            outputs[name] = np.fromfile(file, dtype=np.float32)
    reference = OURS_FP32 if OURS_FP32 in workers else OURS
    return {name: comparison.relative_difference(outputs[reference], theirs)
            for name, theirs in outputs.items() if name != reference}


def measure(workers, rounds):
    """Seconds by name, a list of rounds; every other round takes the turns in reverse."""
    turns = [(name, worker, "run") for name, worker in workers.items()]
    if OURS_FP32 not in workers:  # the bare products are fp32
        turns.insert(1, (CEILING, workers[OURS], "ceiling"))
    seconds = {name: [] for name, _, _ in turns}
    for number in range(-WARM_UP_ROUNDS, rounds):
        for name, worker, command in turns[::-1 if number % 2 else 1]:
            taken = worker.seconds(command)
            if number >= 0:
                seconds[name].append(taken)
    return seconds


def report(name, threads, options, versions, seconds, differences, verdicts):
    """Prints what was found of one model with so many threads."""
    say(f"\n{name}, {threads} thread{'s' * (threads > 1)}, {options.dtype}, {options.rounds} rounds"
        f"{'':8} ms: median (10 %..90 %)  lowest   outputs differ by")
    for engine, times in seconds.items():
        summary = comparison.summarise(times)
        median, tenth, ninetieth, lowest = (
            1e3 * value for value in (summary.median, summary.tenth, summary.ninetieth,
                                      summary.lowest))
        difference = f"   {differences[engine]:.1e}" if engine in differences else ""
        say(f"  {versions.get(engine, 'ceiling: bare oneDNN products'):42} {median:8.1f} "
            f"({tenth:.1f}..{ninetieth:.1f})  {lowest:.1f}{difference}")
    for verdict in verdicts:
        say(verdict.line())


def compare_on(name, threads, options):
    """Measures and reports; returns the figures with whether all holds."""
    folder = Path(options.folder) / name
    workers = start_workers(options, folder, threads)
    try:
        versions = {engine: worker.version for engine, worker in workers.items()}
        differences = output_differences(workers)
        seconds = measure(workers, options.rounds)
    finally:
        end_workers(workers)
    verdicts = comparison.judge(name, threads, options.dtype, seconds)
    report(name, threads, options, versions, seconds, differences, verdicts)
    allowed = OUTPUTS_WITHIN[options.dtype]
    wrong = [engine for engine, value in differences.items() if not value <= allowed]
    for engine in wrong:
        say(f"FAIL  outputs of {engine} differ by {differences[engine]:.1e} of the largest from "
            f"thinwire's in fp32 (at most {allowed:.0e})")
    has_peer = comparison.best_peer(seconds) is not None
    if not has_peer:
        say("FAIL  no peer took part")
    return {"model": name, "threads": threads, "dtype": options.dtype, "versions": versions,
            "seconds": seconds, "output_differences": differences,
            "ratios": {verdict.against: verdict.ratio for verdict in verdicts},
            "holds": all(verdict.holds for verdict in verdicts) and not wrong and has_peer}


def main():
    options = parse_arguments()
    Path(options.folder).mkdir(parents=True, exist_ok=True)
    say(f"{', '.join(options.models)}: single inferences, threads {options.threads}, "
        f"{options.dtype}, {options.rounds} rounds")
    if options.rounds < comparison.ROUNDS_FOR_VERDICT:
        say(f"a verdict needs {comparison.ROUNDS_FOR_VERDICT} rounds: these are indications")
    granted = sorted(os.sched_getaffinity(0))
    figures = []
    try:
        for name in options.models:
            prepare(Path(options.folder) / name, name)
            for threads in options.threads:
                os.sched_setaffinity(0, granted[:threads])  # and the workers that it starts
                figures.append(compare_on(name, threads, options))
            os.sched_setaffinity(0, granted)
    except (Skipped, WorkerError) as reason:
        sys.exit(f"error: {reason}")
    holds = all(figure["holds"] for figure in figures)
    say(f"\n{'pass' if holds else 'FAIL'}  {sum(figure['holds'] for figure in figures)} of "
        f"{len(figures)} comparisons hold")
    if options.json:
        Path(options.json).write_text(json.dumps(
            {"rounds": options.rounds, "holds": holds, "comparisons": figures}, indent=1) + "\n")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
