"""Small data files for models of the golden folder, written without any library."""

import json
import math
import random
import struct

SIZES = {"U8": 1, "I32": 4, "F32": 4}


def write(path, **tensors):
    """tensors: name=(dtype, shape, flat values)"""
    header, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        assert len(values) == math.prod(shape)
        if dtype == "U8":
            raw = bytes(values)
        else:
            raw = struct.pack(f"<{len(values)}{'i' if dtype == 'I32' else 'f'}", *values)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def pictures(path, samples, labels=True, seed=1):
    """Random pictures in the size of vit-tiny; its classes are 0 to 4."""
    rng = random.Random(seed)
    shape = [samples, 32, 32, 3]
    tensors = {"image": ("U8", shape, list(rng.randbytes(math.prod(shape))))}
    if labels:
        tensors["label"] = ("I32", [samples], [rng.randrange(5) for _ in range(samples)])
    return write(path, **tensors)


def sentences(path, lengths, form="length", width=None, vocabulary=96, classes=2, seed=1):
    """Random sentences of these lengths, padded with token 0 on the right to `width`.

    form  "length": the model sees no padding; "attention_mask": it does
    """
    rng = random.Random(seed)
    width = width or max(lengths)
    ids, masks = [], []
    for length in lengths:
        ids += [rng.randrange(1, vocabulary) for _ in range(length)] + [0] * (width - length)
        masks += [1] * length + [0] * (width - length)
    rows = len(lengths)
    tensors = {
        "input_ids": ("I32", [rows, width], ids),
        "label": ("I32", [rows], [rng.randrange(classes) for _ in range(rows)]),
    }
    if form == "length":
        tensors["length"] = ("I32", [rows], list(lengths))
    else:
        tensors["attention_mask"] = ("I32", [rows, width], masks)
    return write(path, **tensors)
