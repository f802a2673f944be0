#!/usr/bin/env python3
"""Finetunes a Hugging Face checkpoint, and codebooks with it, for a strategy over P devices.

    experiments/train/setup.sh                      # once: makes build/train-venv with PyTorch
    build/train-venv/bin/python experiments/train/finetune.py \\
        --model FOLDER --data data.safetensors --method prism --devices 10 --segments 1 \\
        --minutes 10 --distill 1 --score test.safetensors --out build/prism-p10
    thinwire run --model build/prism-p10 --strategy prism --devices 10 --segments 1 …

    thinwire codebook train --model FOLDER --input data.safetensors --samples 0..4999 \\
        --strategy trace-b --devices 4 --codewords 32 --out first.safetensors
    build/train-venv/bin/python experiments/train/finetune.py \\
        --model FOLDER --data data.safetensors --method trace-b --devices 4 \\
        --codebook first.safetensors --minutes 10 --out build/trace-b-p4
    thinwire run --model build/trace-b-p4 --codebook build/trace-b-p4/codebooks.safetensors …

Models: ViT, BERT (classifier or mean pooling), GPT-2. Data: thinwire's files (pictures with labels,
token rows or pairs with labels or scores, bytes). All devices are simulated in one tensor program
with exactly the masks and weights of METHODS 2 and 3, so the written model gives the same outputs
in thinwire under the same strategy.

What is trained: the backbone on the task's loss, --distill times the distance to the original
model's outputs on a single device, and for codebook methods --commitment times |z - sg(c)|^2 of
every exchange. Gradients pass quantisers straight through. Codebooks follow moving averages (0.99)
or, with --update gradient, their own loss |sg(z) - c|^2. --local-drop hides exact keys from their
own device at random. --freeze-backbone trains the codebooks alone.

Training ends after --minutes (all sessions together) or --steps (then --minutes ends a session, and
--resume goes on). --out gets config.json, model.safetensors, what lay beside them,
codebooks.safetensors for codebook methods, and finetune.json with scores and options.
Exit status: 0 done, 2 bad usage or input, 130 interrupted.
"""

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

# Threads that wait sleep: other work on the machine would else slow every step down many times.
# The runtime reads both before the first import of torch.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("GOMP_SPINCOUNT", "2000")

import torch  # noqa: E402

from thinwire_train.argument_types import count, not_negative, positive, share, size  # noqa: E402
from thinwire_train.checkpoint import read_checkpoint, write_checkpoint  # noqa: E402
from thinwire_train.codebook_file import write_codebooks  # noqa: E402
from thinwire_train.data import open_data  # noqa: E402
from thinwire_train.errors import InputError  # noqa: E402
from thinwire_train.finetuning import METHODS, Finetuning, FinetuningOptions  # noqa: E402
from thinwire_train.scoring import score  # noqa: E402
from thinwire_train.training import Training, TrainingOptions  # noqa: E402

CODEBOOKS = "codebooks.safetensors"
SUMMARY = "finetune.json"
STATE = "training-state.pt"


def main(arguments=None):
    options = parse(arguments)
    try:
        return finetune(options)
    except (InputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: --resume goes on from the last saved state", file=sys.stderr)
        return 130


def finetune(options):
    torch.set_num_threads(options.threads or len(os.sched_getaffinity(0)))
    torch.manual_seed(options.seed)
    out = Path(options.out)
    if out.exists() and out.resolve() == Path(options.model).resolve():
        raise InputError(f"--out={out} is --model itself (the original has to stay)")
    checkpoint = read_checkpoint(options.model)
    data = open_data(options.data, checkpoint.config, options.model, "train", options.window)
    judge = Judge(options, checkpoint)
    what, how = split_options(options)
    settings = settings_of(options, what)
    if options.resume and is_complete(out, settings, how):
        print(f"{out}: complete, nothing to do")
        return 0
    finetuning = Finetuning(checkpoint, data, what, options.seed)
    out.mkdir(parents=True, exist_ok=True)
    training = Training(finetuning, finetuning.loss_of, len(data), how, out / STATE, settings,
                        finetuning.after_step)
    if not (options.resume and training.resume()):
        training.save()  # a place that cannot be written shall show before the first step
        judge("before", finetuning.strategy)
        write_summary(out, settings, how, None, judge.scores)
    else:
        judge.scores.update(read_summary(out)["scores"])
    summary = training.run()
    write(out, checkpoint, finetuning)
    judge("after", finetuning.strategy)
    write_summary(out, settings, how, summary, judge.scores)
    end = "" if summary.is_complete else "; not all steps are done, go on with --resume"
    print(f"{out}: {summary.steps} steps in {summary.seconds / 60:.1f} min, "
          f"loss {summary.loss:.4f}{end}")
    return 0


class Judge:
    """Scores the model on --score, with the strategy and on a single device; says and keeps it."""

    def __init__(self, options, checkpoint):
        self.model, self.method = checkpoint.model, options.method
        self.limit, self.scores, self.test = options.score_samples, {}, None
        if options.score is not None:
            self.test = open_data(options.score, checkpoint.config, options.model, "valid",
                                  options.window, "score")

    def __call__(self, when, strategy):
        if self.test is None:
            return
        for name, devices in (("single", None), (self.method, strategy)):
            found = score(self.model, self.test, devices, self.limit)
            self.scores[f"{name}, {when}"] = asdict(found)
            print(f"{name}, {when}: {found}", flush=True)


def settings_of(options, what):
    """What a resumed finetuning must agree with, as text; files by their own names."""
    settings = {key: str(value) for key, value in asdict(what).items()}
    if what.codebook is not None:
        settings["codebook"] = Path(what.codebook).name
    return {**settings, "model": Path(options.model).resolve().name,
            "data": Path(options.data).name, "window": str(options.window)}


def write(out, checkpoint, finetuning):
    write_checkpoint(checkpoint, out)
    if finetuning.has_codebooks:
        what = finetuning.options
        books = {int(key): book for key, book in finetuning.strategy.codebooks.items()}
        made = {"strategy": what.method, "devices": what.devices, "update": what.update,
                "made_by": "experiments/train/finetune.py"}
        write_codebooks(out / CODEBOOKS, what.method, books, made)


def split_options(options):
    what = FinetuningOptions(
        **{name: getattr(options, name) for name in FinetuningOptions.__dataclass_fields__}
    )
    how = TrainingOptions(
        batch=options.batch, rate=options.rate, weight_decay=options.weight_decay,
        steps=options.steps, minutes=options.minutes, seed=options.seed,
    )
    return what, how


def is_complete(out, settings, how):
    """A finetuning with these very options has been here and ended."""
    if (out / STATE).is_file() or not (out / SUMMARY).is_file():
        return False
    written = read_summary(out)
    same = written["settings"] == settings and written["training"] == ending(how)
    return same and written["result"] is not None


def ending(how):
    """The options of the loop; with steps, minutes end a session and not the training."""
    return {**asdict(how), "minutes": None if how.steps is not None else how.minutes}


def read_summary(out):
    return json.loads((out / SUMMARY).read_text(encoding="utf-8"))


def write_summary(out, settings, how, summary, scores):
    """Before training, without a result, so that a killed one keeps its first scores."""
    keys = {"settings": settings, "training": ending(how),
            "result": asdict(summary) if summary else None,
            "scores": scores, "torch": torch.__version__}
    (out / SUMMARY).write_text(json.dumps(keys, indent=2) + "\n", encoding="utf-8")


class Formatter(argparse.ArgumentDefaultsHelpFormatter):
    """Shows defaults where there are any."""

    def _get_help_string(self, action):
        if action.default is None or isinstance(action.default, bool):
            return action.help
        return super()._get_help_string(action)


def parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n")[0], formatter_class=Formatter, allow_abbrev=False
    )
    add = parser.add_argument
    add("--model", required=True, metavar="DIR", help="Hugging Face folder (vit, bert, gpt2)")
    add("--data", required=True, metavar="FILE", help="data file to learn from")
    add("--method", required=True, metavar="NAME", help=", ".join(METHODS))
    add("--devices", required=True, type=int, metavar="P", help="simulated devices")
    add("--out", required=True, metavar="DIR", help="folder to write")
    add("--segments", type=int, metavar="L", help="prism: means that a device publishes")
    add("--scaling", type=on_or_off, default=True, metavar="on|off",
        help="prism: whether means count as many times as they have tokens")
    add("--codewords", type=int, metavar="K", help="of each codebook, fitted by k-means")
    add("--codebook", metavar="FILE",
        help="codebooks to begin with, from `thinwire codebook train`")
    add("--groups", type=int, default=1, metavar="G", help="astra: groups of columns")
    add("--update", choices=("ema", "gradient"), default="ema", help="how codebooks learn")
    add("--commitment", type=not_negative, default=0.1, metavar="W", help="weight of that loss")
    add("--local-drop", type=share, default=0.3, metavar="RHO",
        help="share of exact keys hidden from their own device while training")
    add("--freeze-backbone", action="store_true", help="train the codebooks alone")
    add("--distill", type=not_negative, default=0.0, metavar="W",
        help="weight of the distance to the original model on a single device")
    add("--smoothing", type=share, default=0.1, metavar="S", help="of labels")
    add("--minutes", type=positive, metavar="M", help="time budget")
    add("--steps", type=count, metavar="N", help="number of steps (0: score and write only)")
    add("--batch", type=size, default=64, metavar="N", help="samples of a step")
    add("--rate", type=positive, default=1e-4, metavar="R", help="largest learning rate")
    add("--weight-decay", type=not_negative, default=0.05, metavar="W", help="of matrices")
    add("--window", type=count, default=0, metavar="N",
        help="tokens of a window of bytes (0: the model's positions)")
    add("--seed", type=count, default=0, metavar="N", help="of order, augmentation and k-means")
    add("--threads", type=count, default=0, metavar="N", help="0: one a core")
    add("--score", metavar="FILE", help="data file to score on, never learned from")
    add("--score-samples", type=size, metavar="N", help="the first N of its samples (all)")
    add("--resume", action="store_true", help="go on where these options stopped in --out")
    return parser.parse_args(arguments)


def on_or_off(text):
    if text not in ("on", "off"):
        raise argparse.ArgumentTypeError(f"{text} (on or off is right)")
    return text == "on"


if __name__ == "__main__":
    sys.exit(main())
