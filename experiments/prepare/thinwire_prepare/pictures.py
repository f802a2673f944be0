"""A folder of pictures, or a CSV of file,label -> image uint8 [n, H, W, 3], label int32 [n]."""

import re

import numpy as np
from PIL import Image, UnidentifiedImageError

from thinwire_prepare.command import add_output, make_parser, output_path, run, whole_number
from thinwire_prepare.data_file import describe, write_data_file
from thinwire_prepare.errors import InputError
from thinwire_prepare.picture_list import list_pictures
from thinwire_prepare.progress import Progress

DESCRIPTION = """Pictures as a data file for thinwire's vision models.

INPUT is a folder with a sub-folder for each class (its name is the class name), or a CSV file with
the header file,label. Every picture becomes RGB of one size: the whole picture is resized with
Pillow's antialiased bilinear filter, as thinwire itself resizes, or, with --crop, its shorter side
is resized and the middle kept. All pictures are held in memory: count * height * width * 3 bytes.

Writes image uint8 [n, H, W, 3] (row, column, red-green-blue), label int32 [n], and the class names,
source and licence as metadata."""
EXAMPLES = """examples:
  pictures.py flowers/ --size 224 --out flowers.safetensors --licence "CC BY 4.0"
  pictures.py flowers/ --size 32 --limit 500 --seed 1 --out few.safetensors   # a random 500
  pictures.py index.csv --size 64x48 --out wide.safetensors                   # 64 wide, 48 high"""


def main(arguments=None):
    parser = make_parser(DESCRIPTION, EXAMPLES, prog="pictures.py")
    parser.add_argument("input", metavar="INPUT", help="folder with a sub-folder a class, or a CSV")
    parser.add_argument("--size", required=True, help="SIDE, or WIDTHxHEIGHT, in pixels")
    parser.add_argument("--crop", action="store_true", help="keep the middle of the picture")
    parser.add_argument("--limit", type=whole_number(1), metavar="N", help="at most N pictures")
    parser.add_argument(
        "--seed", type=whole_number(0), metavar="N",
        help="draw pictures in random order, the same for the same N (else in order of name)",
    )
    add_output(parser)
    options = parser.parse_args(arguments)
    return run(lambda: prepare(options))


def prepare(options):
    out = output_path(options.out)
    width, height = read_size(options.size)
    pictures = list_pictures(options.input)
    order = np.arange(len(pictures.files))
    if options.seed is not None:
        order = np.random.default_rng(options.seed).permutation(order)
    order = order[: options.limit]

    images = np.empty((len(order), height, width, 3), np.uint8)
    progress = Progress("pictures", len(order))
    for place, index in enumerate(order):
        images[place] = read_picture(pictures.files[index], width, height, options.crop)
        progress.at(place + 1)
    labels = np.asarray(pictures.labels, np.int32)[order]
    tensors = {"image": images, "label": labels}
    write_data_file(out, tensors, metadata(options, pictures.classes))
    print(f"{len(order)} pictures of {len(pictures.classes)} classes")
    print(describe(out, tensors))


def metadata(options, classes):
    resizing = "shorter side, middle kept" if options.crop else "whole picture"
    return {
        "task": "image classification",
        "classes": ",".join(name.replace(",", " ") for name in classes),
        "preparation": f"Pillow antialiased bilinear to {options.size}, {resizing}",
        "source": options.source,
        "licence": options.licence,
    }


def read_size(text):
    """"32" -> (32, 32); "64x48" -> (64, 48): width, height."""
    match = re.fullmatch(r"([1-9][0-9]{0,4})(?:x([1-9][0-9]{0,4}))?", text)
    if match is None:
        raise InputError(f"--size={text} (SIDE or WIDTHxHEIGHT in pixels is needed, such as 224)")
    width = int(match[1])
    return width, int(match[2] or width)


def read_picture(file, width, height, crop=False):
    """uint8 [height, width, 3]"""
    try:
        with Image.open(file) as opened:
            picture = opened.convert("RGB")
    except (UnidentifiedImageError, OSError, ValueError) as error:
        raise InputError(f"{file}: not a picture that can be read ({error})") from None
    box = middle(picture.width, picture.height, width / height) if crop else None
    return np.asarray(picture.resize((width, height), Image.Resampling.BILINEAR, box=box))


def middle(width, height, ratio):
    """The largest box in the middle with width / height = ratio: left, top, right, bottom."""
    box_width, box_height = min(width, height * ratio), min(height, width / ratio)
    left, top = (width - box_width) / 2, (height - box_height) / 2
    return left, top, left + box_width, top + box_height
