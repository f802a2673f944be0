"""The golden models as the tests of experiments/train use them, and how programs are started."""

import subprocess

from places import GOLDEN, MODELS, REPOSITORY

TRAIN = REPOSITORY / "experiments" / "train"
TIMEOUT_S = 240
TINY = ("vit-tiny", "bert-tiny", "gpt2-tiny")


def call(command, folder):
    return subprocess.run(
        [str(word) for word in command], cwd=folder, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=TIMEOUT_S,
    )


def golden_tensors(name):
    from safetensors.torch import load_file

    return load_file(GOLDEN / f"{name}.safetensors")


def golden_batch(name, tensors, run=None):
    """The input of one of a golden file's runs, as a batch of one."""
    from thinwire_train.models import Batch

    run = run or {"input": "input"}
    given = tensors[run["input"]][None]
    if name == "vit-tiny":
        return Batch(pixels=given)
    mask = run.get("attention_mask")
    return Batch(ids=given.long(), real=None if mask is None else tensors[mask][None].bool())


def relative_difference(ours, theirs):
    return float((ours - theirs).abs().max() / theirs.abs().max())


def tiny_model(name):
    from thinwire_train.checkpoint import read_checkpoint

    checkpoint = read_checkpoint(MODELS / name)
    checkpoint.model.eval()
    return checkpoint
