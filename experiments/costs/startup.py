"""Times what `thinwire run` does beside its pass; startup.sh says how to call it.

The start-up of a run is the wall time of the whole program (its launch, weights, packing, ranks, and
also its end) less that of its one pass.
"""

import argparse
import json
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from array import array
from pathlib import Path

LIMIT_S = 1.5
JUDGED_DEVICES = (1, 2)  # with more, mpirun's own time is most of it
BLOCK_VALUES = 1 << 18
HIDDEN, FFN, LAYERS, PATCH, LABELS, TOKENS = 768, 3072, 12, 16, 1000, 197


def vit_base_shapes():
    """The tensors of a ViT-B/16 checkpoint."""
    shapes = {
        "vit.embeddings.cls_token": [1, 1, HIDDEN],
        "vit.embeddings.position_embeddings": [1, TOKENS, HIDDEN],
        "vit.embeddings.patch_embeddings.projection.weight": [HIDDEN, 3, PATCH, PATCH],
        "vit.embeddings.patch_embeddings.projection.bias": [HIDDEN],
        "vit.layernorm.weight": [HIDDEN],
        "vit.layernorm.bias": [HIDDEN],
        "classifier.weight": [LABELS, HIDDEN],
        "classifier.bias": [LABELS],
    }
    for layer in range(LAYERS):
        name = f"vit.encoder.layer.{layer}"
        products = {
            f"{name}.attention.attention.query": [HIDDEN, HIDDEN],
            f"{name}.attention.attention.key": [HIDDEN, HIDDEN],
            f"{name}.attention.attention.value": [HIDDEN, HIDDEN],
            f"{name}.attention.output.dense": [HIDDEN, HIDDEN],
            f"{name}.intermediate.dense": [FFN, HIDDEN],
            f"{name}.output.dense": [HIDDEN, FFN],
        }
        for product, shape in products.items():
            shapes[f"{product}.weight"] = shape
            shapes[f"{product}.bias"] = shape[:1]
        for norm in ("layernorm_before", "layernorm_after"):
            shapes[f"{name}.{norm}.weight"] = [HIDDEN]
            shapes[f"{name}.{norm}.bias"] = [HIDDEN]
    return shapes


def elements(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


def write_model(folder):
    """A model folder with weights of the usual size, the same ones over and over."""
    noise = random.Random(7)
    block = array("f", (noise.gauss(0, 0.02) for _ in range(BLOCK_VALUES))).tobytes()
    header, offset = {}, 0
    for name, shape in vit_base_shapes().items():
        end = offset + 4 * elements(shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        while offset > 0:
            offset -= file.write(block[: min(offset, len(block))])
    (folder / "config.json").write_text(json.dumps({
        "model_type": "vit", "architectures": ["ViTForImageClassification"],
        "hidden_size": HIDDEN, "intermediate_size": FFN, "num_hidden_layers": LAYERS,
        "num_attention_heads": 12, "patch_size": PATCH, "image_size": 224, "num_channels": 3,
        "hidden_act": "gelu", "layer_norm_eps": 1e-12, "qkv_bias": True,
        "id2label": {str(i): f"label {i}" for i in range(LABELS)},
    }))  # fmt: skip


def timed(command):
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(map(str, command))}\n{done.stderr}")
    return seconds, done.stdout


def pass_s(record):
    """By the wall: the devices of a node compute in turn."""
    times = record["time"]
    compute_s = sum(device["compute_s"]["mean"] for device in times["links"][0]["per_device"])
    return compute_s * times["emulation_overhead"]


def start_up_s(thinwire, model, devices):
    strategy = "single" if devices == 1 else "voltage"
    seconds, output = timed(
        [thinwire, "run", "--model", model, "--strategy", strategy, "--devices", str(devices),
         "--warmup", "0", "--iterations", "1", "--json", "-"]
    )  # fmt: skip
    return seconds - pass_s(json.loads(output))


def build_mpi_start(folder):
    source = Path(__file__).with_name("mpi_start.c")
    program = folder / "mpi_start"
    timed(["mpicc", "-O1", str(source), "-o", str(program)])
    return program


def mpirun_s(program, devices):
    launch = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(devices), str(program)]
    return timed(launch)[0]


def cases(settings, folder, model_folder):
    """What is timed in turn: name -> a function that gives seconds."""
    found = {}
    mpi_start = build_mpi_start(folder)
    for devices in settings.devices:
        ranks = f"{devices} device{'s' * (devices > 1)}"
        for kind, model in (("generated", settings.model), ("loaded", str(model_folder))):
            found[devices, f"{ranks}, weights {kind}"] = (
                lambda model=model, devices=devices: start_up_s(settings.thinwire, model, devices)
            )
        if devices > 1:
            found[devices, f"{ranks}, mpirun alone"] = (
                lambda devices=devices: mpirun_s(mpi_start, devices)
            )
    return found


def judge(devices, name, samples_s):
    """A case's figures; `passed` is null where nothing is asked."""
    median = statistics.median(samples_s)
    is_asked = devices in JUDGED_DEVICES and "mpirun" not in name
    return {
        "case": name,
        "median_s": median,
        "min_s": min(samples_s),
        "max_s": max(samples_s),
        "passed": median <= LIMIT_S if is_asked else None,
    }


def show(figure):
    verdict = {True: "pass", False: "FAIL", None: ""}[figure["passed"]]
    limit = "" if figure["passed"] is None else f"<= {LIMIT_S}"
    print(f"{figure['case']:<30} {figure['median_s']:6.3f} {limit:>7}  "
          f"({figure['min_s']:.3f} to {figure['max_s']:.3f})  {verdict}")


def device_list(text):
    return [int(word) for word in text.split(",")]


def parse():
    parser = argparse.ArgumentParser(description="start-up of a run")
    parser.add_argument("--thinwire", required=True, help="the program")
    parser.add_argument("--model", default="vit-base-16", help="a preset, for generated weights")
    parser.add_argument("--folder", help="a model folder, for loaded weights")
    parser.add_argument("--devices", type=device_list, default=[1, 2, 10])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", help="a file for the figures")
    return parser.parse_args()


def main():
    settings = parse()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if settings.folder is None:
            write_model(folder)
        timers = cases(settings, folder, settings.folder or folder)
        samples_s = {case: [] for case in timers}
        for _ in range(settings.rounds):
            for case, measure in timers.items():
                samples_s[case].append(measure())
    print(f"seconds beside the pass, median of {settings.rounds} (smallest to largest)")
    figures = [judge(*case, samples_s[case]) for case in timers]
    for figure in figures:
        show(figure)
    if settings.json:
        Path(settings.json).write_text(json.dumps(figures, indent=1) + "\n")
    sys.exit(1 if any(figure["passed"] is False for figure in figures) else 0)


if __name__ == "__main__":
    main()
