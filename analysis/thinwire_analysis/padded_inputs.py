"""Lengths of a data file's sequences, and the same sequences padded further.

  python -m thinwire_analysis.padded_inputs lengths DATA --samples 0..99 --devices 2,3 --out FILE
  python -m thinwire_analysis.padded_inputs pad DATA --samples 0..99 --positions 256 --out FILE

lengths adds to FILE, a JSON list, how many sequences have real tokens past device 0 of P
(partition `paper`: device 0 has the first floor(N / P) of N positions).
"""

import argparse
import json
import struct
import sys
from pathlib import Path

import numpy as np

from thinwire_analysis.errors import InputError

INTEGERS = {"I32": np.int32, "I64": np.int64}
KINDS = {"<i4": "I32", "<f4": "F32"}
NUMBERS = {**INTEGERS, "F32": np.float32}


def read_tensors(path):
    """{name: array} of a safetensors file, without those of types that no sentence set has."""
    try:
        content = Path(path).read_bytes()
        size = struct.unpack("<Q", content[:8])[0]
        header = json.loads(content[8 : 8 + size])
        found = {}
        for name, entry in header.items():
            if name == "__metadata__" or entry["dtype"] not in NUMBERS:
                continue
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            values = np.frombuffer(content[begin:end], NUMBERS[entry["dtype"]])
            found[name] = values.reshape(entry["shape"])
        return found
    except (OSError, ValueError, KeyError, struct.error) as error:
        raise InputError(f"{path}: no safetensors file ({error})") from error


def write_tensors(path, tensors):
    """Writes int32 and float32 arrays as a safetensors file."""
    header, offset = {}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": KINDS[values.dtype.str], "shape": list(values.shape),
                        "data_offsets": [offset, offset + values.nbytes]}  # fmt: skip
        offset += values.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for values in tensors.values():
            file.write(np.ascontiguousarray(values).tobytes())


def real_lengths(tensors, path):
    """(real tokens, positions), an array each, one entry a sequence."""
    if "length" in tensors:
        return tensors["length"], tensors["length"]
    if "attention_mask" not in tensors:
        raise InputError(f"{path}: neither length nor attention_mask")
    mask = tensors["attention_mask"]
    return mask.sum(axis=1), np.full(len(mask), mask.shape[1])


def lengths(path, first, last, devices):
    """One dict: how far the real tokens of samples first..last (pairs) reach over P devices."""
    tensors = read_tensors(path)
    real, positions = real_lengths(tensors, path)
    each = len(real) // _samples(tensors, len(real))
    chosen = slice(each * first, each * (last + 1))
    real, positions = real[chosen], positions[chosen]
    if not 0 <= first <= last or len(real) != each * (last + 1 - first):
        raise InputError(f"{path}: samples {first}..{last} are not all there")
    past = real > positions // devices
    return {
        "data": Path(path).name,
        "first": first,
        "last": last,
        "devices": devices,
        "positions": float(positions.mean()),
        "real": float(real.mean()),
        "sequences": len(real),
        "past": int(past.sum()),
        "samples": last + 1 - first,
        "samples_past": int(past.reshape(-1, each).any(axis=1).sum()),
    }


def padded(path, first, last, positions):
    """The tensors of samples first..last with every row at `positions` tokens, and a mask."""
    tensors = read_tensors(path)
    real, _ = real_lengths(tensors, path)
    each = len(real) // _samples(tensors, len(real))
    rows = slice(each * first, each * (last + 1))
    ids, real = tensors["input_ids"][rows], real[rows]
    if real.max() > positions:
        raise InputError(f"--positions={positions}: a sequence has {real.max()} tokens")
    wide = np.zeros((len(ids), positions), np.int32)
    mask = (np.arange(positions)[None, :] < real[:, None]).astype(np.int32)
    width = min(positions, ids.shape[1])
    wide[:, :width] = ids[:, :width]
    answers = {
        name: tensors[name][first : last + 1] for name in ("score", "label") if name in tensors
    }
    return {"input_ids": wide * mask, "attention_mask": mask, **answers}


def _samples(tensors, sequences):
    answers = [len(tensors[name]) for name in ("score", "label") if name in tensors]
    return answers[0] if answers else sequences


def main(arguments=None):
    """Exit status: 0 written, 2 bad usage or input."""
    options = _parser().parse_args(arguments)
    try:
        first, last = (int(number) for number in options.samples.split(".."))
        if options.command == "pad":
            write_tensors(options.out, padded(options.data, first, last, options.positions))
            return 0
        known = json.loads(options.out.read_text(encoding="utf-8")) if options.out.exists() else []
        made = [lengths(options.data, first, last, int(p)) for p in options.devices.split(",")]
        keys = ("data", "first", "last", "devices")
        fresh = {tuple(entry[key] for key in keys) for entry in made}
        kept = [entry for entry in known if tuple(entry[key] for key in keys) not in fresh]
        options.out.write_text(json.dumps(kept + made, indent=1) + "\n", encoding="utf-8")
        return 0
    except (InputError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _parser():
    parser = argparse.ArgumentParser(prog="python -m thinwire_analysis.padded_inputs")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("lengths", "pad"):
        command = commands.add_parser(name)
        command.add_argument("data", type=Path)
        command.add_argument("--samples", required=True, help="first..last, both included")
        command.add_argument("--out", type=Path, required=True)
        if name == "pad":
            command.add_argument("--positions", type=int, required=True)
        else:
            command.add_argument("--devices", default="2", help="such as 2,3")
    return parser


if __name__ == "__main__":
    sys.exit(main())
