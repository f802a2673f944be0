#!/usr/bin/env python3
"""Trains a small Vision Transformer from scratch on a data file of pictures.

    experiments/train/setup.sh                      # once: makes build/train-venv with PyTorch
    experiments/prepare/pictures.py flowers/ --size 32 --seed 0 --out flowers.safetensors
    build/train-venv/bin/python experiments/train/train_vit.py --data flowers.safetensors \\
        --minutes 20 --out build/vit-flowers
    thinwire run --model build/vit-flowers --input rose.jpg --strategy prism --devices 2 …

The data file has image uint8 [n, side, side, 3] and label int32 [n]; the model takes pictures of
that side. --validation of them, drawn with --seed, are never learned from and are scored at the
end. Training pictures are shifted (crop) and mirrored (flip) at random; --augment none, or crop
alone for digits and letters.

Training ends after --epochs, or after --minutes in all; with both, --minutes ends a session and
--resume goes on with the same options. --out gets config.json, preprocessor_config.json,
model.safetensors (Hugging Face's ViTForImageClassification, fp32) and training.json.
Exit status: 0 done, 2 bad usage or input.
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
from thinwire_train.checkpoint import write_checkpoint  # noqa: E402
from thinwire_train.errors import InputError  # noqa: E402
from thinwire_train.losses import task_loss  # noqa: E402
from thinwire_train.new_vit import AUGMENTS, NewVit, VitOptions, fingerprint  # noqa: E402
from thinwire_train.new_vit import read_pictures  # noqa: E402
from thinwire_train.scoring import score  # noqa: E402
from thinwire_train.training import Training, TrainingOptions  # noqa: E402

STATE = "training-state.pt"


def main(arguments=None):
    options = parse(arguments)
    try:
        train(options)
    except (InputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def train(options):
    torch.set_num_threads(options.threads or len(os.sched_getaffinity(0)))
    out = Path(options.out)
    what = VitOptions(**{name: getattr(options, name) for name in VitOptions.__dataclass_fields__})
    new = NewVit(read_pictures(options.data), what)
    model = new.checkpoint.model
    how = training_options(options, len(new.train))

    def loss_of(indices, generator):
        batch, target = new.train.batch(indices, generator)
        return task_loss(model.config, model(batch), target, options.smoothing)

    out.mkdir(parents=True, exist_ok=True)
    settings = {**{key: str(value) for key, value in asdict(what).items()},
                "data": fingerprint(options.data), "smoothing": str(options.smoothing)}
    training = Training(model, loss_of, len(new.train), how, out / STATE, settings)
    if options.resume and not training.resume():
        print("nothing to resume: starting anew", file=sys.stderr)
    training.save()  # a place that cannot be written shall show before the first step
    print(f"{len(new.train)} pictures to learn from, {len(new.valid)} to validate; "
          f"{model.config.max_tokens} tokens, {sum(p.numel() for p in model.parameters())} "
          "parameters", flush=True)
    summary = training.run()
    write(out, new, summary, settings)


def write(out, new, summary, settings):
    write_json(out / "preprocessor_config.json", new.preprocessing())
    write_checkpoint(new.checkpoint, out)
    scores = {}
    for name, data in (("train", new.train), ("validation", new.valid)):
        if len(data) > 0:
            found = score(new.checkpoint.model, data, limit=5000)
            scores[name] = asdict(found)
            print(f"{name}: {found}")
    write_json(out / "training.json",
               {"settings": settings, "result": asdict(summary), "scores": scores,
                "torch": torch.__version__})
    end = "" if summary.is_complete else "; not all epochs are done, go on with --resume"
    print(f"{out}: {summary.steps} steps in {summary.seconds / 60:.1f} min, "
          f"loss {summary.loss:.4f}{end}")


def training_options(options, pictures):
    steps = None
    if options.epochs is not None:
        steps = round(options.epochs * pictures / min(options.batch, pictures))
    elif options.minutes is None:
        raise InputError("--epochs or --minutes is needed: how long shall training take?")
    return TrainingOptions(
        batch=options.batch, rate=options.rate, weight_decay=options.weight_decay, steps=steps,
        minutes=options.minutes, seed=options.seed,
    )


def write_json(path, keys):
    path.write_text(json.dumps(keys, indent=2) + "\n", encoding="utf-8")


def parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n\n")[0],
        epilog=__doc__.partition("\n\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--data", required=True, metavar="FILE", help="pictures with labels")
    add("--out", required=True, metavar="DIR", help="folder to write")
    add("--patch", type=size, default=4, metavar="N", help="side of a patch in pixels (4)")
    add("--hidden", type=size, default=128, metavar="D", help="width of the model (128)")
    add("--layers", type=size, default=6, metavar="B", help="blocks (6)")
    add("--heads", type=size, default=4, metavar="H", help="attention heads (4)")
    add("--ffn", type=count, default=0, metavar="F", help="feed-forward width (4 * hidden)")
    add("--epochs", type=positive, metavar="N", help="times that every picture is seen")
    add("--minutes", type=positive, metavar="M", help="time budget")
    add("--batch", type=size, default=128, metavar="N", help="pictures of a step (128)")
    add("--rate", type=positive, default=1e-3, metavar="R", help="largest learning rate (1e-3)")
    add("--weight-decay", type=not_negative, default=0.05, metavar="W", help="of matrices (0.05)")
    add("--smoothing", type=share, default=0.1, metavar="S", help="of labels (0.1)")
    add("--augment", type=augments, default=AUGMENTS, metavar="LIST", help="crop,flip (default), "
        "one of them, or none")
    add("--validation", type=share, default=0.1, metavar="SHARE", help="of the pictures (0.1)")
    add("--seed", type=count, default=0, metavar="N", help="of split, weights and order (0)")
    add("--threads", type=count, default=0, metavar="N", help="0: one a core (0)")
    add("--resume", action="store_true", help="go on where these options stopped in --out")
    return parser.parse_args(arguments)


def augments(text):
    names = () if text == "none" else tuple(sorted(set(text.split(","))))
    if not set(names) <= set(AUGMENTS):
        raise argparse.ArgumentTypeError(f"{text} (crop, flip, crop,flip or none is right)")
    return names


if __name__ == "__main__":
    sys.exit(main())
