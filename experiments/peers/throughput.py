"""Times `thinwire eval` on one device beside PyTorch: the same model, pictures and threads.

Called by throughput.sh. Rounds alternate between the two, so that a machine that slows down slows
both. PyTorch's time is that of its loop; thinwire's is what the program takes longer than for a few
pictures (start, weights, ranks), which is printed beside it.
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

import safetensors.torch
import torch

from preprocessing import Preprocessing
from torch_transformer import load_model

SHARED = Path(__file__).resolve().parents[2] / "../shared"
LIMIT = 1.2
LOGITS_WITHIN = 1e-4
FEW = 16


class Thinwire:
    """The program, evaluating `data` on one device in `ranks` replicas."""

    def __init__(self, program, model, data, ranks, threads):
        self.name = f"thinwire, {ranks} rank{'s' * (ranks > 1)} x {threads} thread{'s' * (threads > 1)}"
        self.program, self.threads, self.ranks = program, threads, ranks
        self.common = ["--model", model, "--threads", str(threads)]
        self.data = data
        self.accuracy = None

    def run(self, samples):
        """Seconds of the whole program for so many pictures."""
        with tempfile.TemporaryDirectory() as folder:
            results = Path(folder) / "results.jsonl"
            command = [self.program, "eval", *self.common, "--data", self.data,
                       "--samples", f"0..{samples - 1}", "--json", str(results)]
            start = time.perf_counter()
            checked(command)
            seconds = time.perf_counter() - start
            record = json.loads(results.read_text())
        if record["status"] != "ok":
            sys.exit(f"error: {record['reason']}")
        self.accuracy = record["accuracy"]["value"]
        return seconds

    def measure(self, samples):
        start_up = self.run(FEW)
        return {"seconds": (self.run(samples) - start_up) / (samples - FEW), "start_up": start_up}


class Torch:
    """The same model in PyTorch, `batch` pictures at a time."""

    def __init__(self, model, preprocess, pictures, labels, batch):
        self.name = f"PyTorch, batch {batch}"
        self.model, self.preprocess, self.batch = model, preprocess, batch
        self.pictures, self.labels = pictures, labels
        self.accuracy = None

    def run(self, samples):
        right = 0
        with torch.inference_mode():
            for begin in range(0, samples, self.batch):
                rows = slice(begin, min(begin + self.batch, samples))
                logits = self.model(self.preprocess(self.pictures[rows]))
                right += int((logits.argmax(dim=1) == self.labels[rows]).sum())
        return right

    def measure(self, samples):
        self.run(min(4 * self.batch, samples))  # warm up
        start = time.perf_counter()
        right = self.run(samples)
        seconds = time.perf_counter() - start
        self.accuracy = right / samples
        return {"seconds": seconds / samples}


def checked(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(command)}\n{done.stderr}{done.stdout}")
    return done.stdout


def largest_logit_difference(program, model_folder, data, model, preprocess, pictures):
    """max |ours - PyTorch's| / max |PyTorch's| over a few pictures."""
    worst = 0.0
    for sample in range(min(4, len(pictures))):
        with tempfile.TemporaryDirectory() as folder:
            outputs = str(Path(folder) / "outputs.safetensors")
            checked([program, "run", "--model", model_folder, "--strategy", "single",
                     "--input", data, "--sample", str(sample), "--outputs", outputs,
                     "--iterations", "1", "--warmup", "0"])
            ours = safetensors.torch.load_file(outputs)["logits"].flatten()
        with torch.inference_mode():
            theirs = model(preprocess(pictures[sample:sample + 1])).flatten()
        worst = max(worst, float((ours - theirs).abs().max() / theirs.abs().max()))
    return worst


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--thinwire", default="build/release/src/cli/thinwire", help="the program")
    parser.add_argument("--model", help="a ViT's folder")
    parser.add_argument("--data", help="its pictures, image and label")
    parser.add_argument("--samples", type=int, default=0, help="pictures, from the first (0: all)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0, help="in all (0: every granted core)")
    parser.add_argument("--batches", default="1,8,32,128", help="PyTorch's, as a list")
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--quick", action="store_true", help="1,000 pictures, three rounds")
    options = parser.parse_args()
    for name, default in (("model", "models/vit-cifar10"), ("data", "data/cifar10_test.safetensors")):
        if getattr(options, name) is None:
            if not (SHARED / default).exists():
                parser.error(f"--{name} is needed where ../shared/{default} is not")
            setattr(options, name, str(SHARED / default))
        elif not Path(getattr(options, name)).exists():
            parser.error(f"--{name}={getattr(options, name)}: not there")
    try:
        options.batches = [int(batch) for batch in options.batches.split(",")]
    except ValueError:
        parser.error(f"--batches={options.batches}: numbers with commas between, such as 1,8,32")
    if options.quick:
        options.samples, options.rounds = options.samples or 1000, min(options.rounds, 3)
    if min(options.batches) < 1 or options.rounds < 1 or options.samples < 0 or options.threads < 0:
        parser.error("--batches, --rounds: at least 1; --samples, --threads: not negative")
    return options, parser


def use_cores(threads, parser):
    """Keeps this process and those that it starts to as many cores as threads."""
    granted = sorted(os.sched_getaffinity(0))
    threads = threads or len(granted)
    if threads > len(granted):
        parser.error(f"--threads={threads}: {len(granted)} cores are granted")
    os.sched_setaffinity(0, granted[:threads])
    torch.set_num_threads(threads)
    return threads


def report(sides, rounds):
    """Prints a line a side; returns the median milliseconds a picture by name."""
    medians = {}
    print(f"{'':32} ms a picture: median (lowest..highest)   accuracy")
    for side in sides:
        times = [1e3 * figures["seconds"] for figures in rounds[side.name]]
        medians[side.name] = statistics.median(times)
        note = ""
        if "start_up" in rounds[side.name][0]:
            start = statistics.median(figures["start_up"] for figures in rounds[side.name])
            note = f"   and {start:.2f} s to start"
        print(f"{side.name:32} {medians[side.name]:8.3f} ({min(times):.3f}..{max(times):.3f})"
              f"{side.accuracy:22.4f}{note}")
    return medians


def main():
    options, parser = parse_arguments()
    threads = use_cores(options.threads, parser)
    tensors = safetensors.torch.load_file(options.data)
    if "image" not in tensors or "label" not in tensors:
        parser.error(f"--data={options.data}: no tensors image and label")
    pictures, labels = tensors["image"], tensors["label"]
    samples = min(options.samples or len(pictures), len(pictures))
    if samples <= FEW:
        parser.error(f"--samples={samples}: more than {FEW} are needed, which measure the start")
    model, preprocess = load_model(options.model), Preprocessing(options.model)

    difference = largest_logit_difference(options.thinwire, options.model, options.data, model,
                                          preprocess, pictures)
    print(f"{samples} pictures, {threads} threads in all, {options.rounds} rounds, "
          f"PyTorch {torch.__version__}")
    print(f"logits differ by {difference:.1e} of the largest (at most {LOGITS_WITHIN:.0e} is right)")

    ours = [Thinwire(options.thinwire, options.model, options.data, threads, 1)]
    if threads > 1:
        ours.append(Thinwire(options.thinwire, options.model, options.data, 1, threads))
    theirs = [Torch(model, preprocess, pictures, labels, batch) for batch in options.batches]
    rounds = {side.name: [] for side in ours + theirs}
    for _ in range(options.rounds):
        for side in ours + theirs:
            rounds[side.name].append(side.measure(samples))
    medians = report(ours + theirs, rounds)

    best_of_ours = min(ours, key=lambda side: medians[side.name])
    best_of_theirs = min(theirs, key=lambda side: medians[side.name])
    ratio = medians[best_of_ours.name] / medians[best_of_theirs.name]
    for our in ours:
        ratios = (f"{medians[our.name] / medians[side.name]:.2f} of {side.name}" for side in theirs)
        print(f"{our.name}: {', '.join(ratios)}")
    holds = ratio <= LIMIT and difference <= LOGITS_WITHIN
    print(f"{'pass' if holds else 'FAIL'}  the single device takes {ratio:.2f} times as long as "
          f"{best_of_theirs.name}, PyTorch's best (at most {LIMIT})")
    if options.json:
        Path(options.json).write_text(json.dumps(
            {"samples": samples, "threads": threads, "torch": torch.__version__,
             "logit_difference": difference, "ratio": ratio, "holds": holds,
             "seconds_a_picture": {name: [figures["seconds"] for figures in measured]
                                   for name, measured in rounds.items()},
             "accuracy": {side.name: side.accuracy for side in ours + theirs}}, indent=1) + "\n")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
