"""An accuracy study's folder as experiments/accuracy.sh leaves it, with scores of known quality."""

import json

import numpy as np

from synthetic import statistics
from thinwire_analysis.accuracy_scores import PointScores, metric_values, resampled_weights

SAMPLES = 200
METRICS = {"cifar10": "accuracy", "sts": "spearman", "shakespeare": "bits_per_byte"}
LEVELS = (2, 4, 8, 32, 1024)


def spec(strategy="single", devices=1, **more):
    """A spec's options under the names of records."""
    return {
        "model": "a-model", "strategy": strategy, "devices": devices, "segments": None,
        "compression-rate": None, "scaling": "on", "active-codewords": None, "codebook": None,
        "data": "test.safetensors", "samples": [1000, 999 + SAMPLES], "rate": ["unlimited"],
        **{name.replace("_", "-"): value for name, value in more.items()},
    }  # fmt: skip


def scores_of(metric, quality, samples=SAMPLES):
    """Scores whose metric grows with `quality` (0 to 1), the same samples drawn for every one."""
    random = np.random.default_rng(7)
    hard = random.random(samples)
    label = random.integers(0, 10, samples)
    if metric == "accuracy":
        return {"predicted": np.where(hard < quality, label, (label + 1) % 10).tolist(),
                "label": label.tolist()}  # fmt: skip
    if metric == "spearman":
        target = random.random(samples)
        return {"prediction": (quality * target + (1 - quality) * hard).tolist(),
                "target": target.tolist()}  # fmt: skip
    return {"loss": (255 * (3 - 2 * quality) * (1 + 0.1 * hard)).tolist(),
            "bytes": [255] * samples}  # fmt: skip


def scored(metric, quality, identity, **options):
    """(record, line of scores) of a point."""
    columns = scores_of(metric, quality)
    arrays = PointScores({name: np.asarray(column, float) for name, column in columns.items()})
    values = metric_values(metric, arrays, resampled_weights(SAMPLES, 100))
    given = spec(**options)
    exact = given["strategy"] in ("single", "voltage", "tensor", "pipeline")
    record = {
        "schema": "thinwire.result/1", "id": identity, "status": "ok", "reason": None,
        "source": "measured", "spec": given,
        "operations": {"total_flops": 1000, "device_flops": [1000]},
        "traffic": {"compression_rate": traffic_rate(given)},
        "time": None,
        "accuracy": {
            "metric": metric, "value": float(values[0]), "samples": SAMPLES,
            "interval_95": [float(v) for v in np.percentile(values[1:], [2.5, 97.5])],
            "also": {}, "bits_per_inference": sent_bits(given),
            "tokens": {"mean": 65.0, "max": 65},
            "agreement": {
                "top1": 1.0 if exact else quality, "kl_divergence": 0.0 if exact else 1 - quality,
                "output_cosine": 1.0 if exact else quality, "hidden_cosine": [1.0, 1.0 if exact else quality],
                "largest_relative_difference": 1e-6 if exact else 0.1,
                "change": float(values[0]) - 0.5, "change_interval_95": [-0.1, 0.1],
            },
        },
        "checks": {"counted_equals_predicted": True, "agreement": None},
        "environment": {"cpu": "a processor", "cores": 2},
    }  # fmt: skip
    return record, {"id": identity, **columns}


def traffic_rate(given):
    """Uncompressed over compressed bits, as a record has it."""
    if given["strategy"] == "prism":
        return 65 / given["devices"] / given["segments"] if given["segments"] else 8.0
    return 1.0 if given["strategy"] == "voltage" else None


def sent_bits(given):
    """Bits of an inference: fewer with higher compression."""
    if given["strategy"] == "single":
        return 0.0
    if given["active-codewords"]:
        return 390.0 * np.log2(given["active-codewords"])
    return 1.6e6 / (traffic_rate(given) or 1)


def grid():
    """{part: [(quality, options)]}: every ordering of the papers holds, except that of 1B."""
    exact = [(0.9, {})] + [
        (0.9, {"strategy": name, "devices": p})
        for name in ("voltage", "tensor", "pipeline")
        for p in (2, 3)
    ]
    prism = [
        (0.9 - loss - (0.1 if scaling == "off" else 0) - (0.1 if p == 3 else 0),
         {"strategy": "prism", "devices": p, "segments": segments, "scaling": scaling})
        for p, lengths in ((2, (16, 9, 3)), (3, (11, 6, 2)))
        for loss, segments in zip((0.05, 0.15, 0.25), lengths)
        for scaling in ("on", "off")
    ]  # fmt: skip
    start = {"trace-nb": 0.85, "trace-b": 0.75, "astra": 0.65, "trace-2a": 0.8, "trace-1b": 0.9}
    trace = [
        (start[name] - 0.08 * step - 0.05 * (p - 2),
         {"strategy": name, "devices": p, "active_codewords": level, "codebook": f"{name}-p{p}-k1024.safetensors"})
        for name in start
        for p in (2, 3)
        for step, level in enumerate(reversed(LEVELS))
    ]  # fmt: skip
    variants = [
        (0.7 - 0.08 * step - 0.05 * (p - 2),
         {"strategy": "trace-b", "devices": p, "active_codewords": level,
          "codebook": f"trace-b-p{p}-k1024-{kind}.safetensors"})
        for kind in ("usage", "cosine")
        for p in (2, 3)
        for step, level in enumerate(reversed(LEVELS[:-1]), start=1)
    ] + [
        (quality - 0.05 * (p - 2),
         {"strategy": "trace-b", "devices": p, "active_codewords": 1024,
          "codebook": f"trace-b-p{p}-k1024-{kind}.safetensors"})
        for kind, quality in (("gradient", 0.6), ("subspace", 0.82), ("kmeans", 0.7))
        for p in (2, 3)
    ]  # fmt: skip
    bf16 = [
        (quality - 0.01, options | {"dtype": "bf16"})
        for quality, options in (exact[0], exact[1], prism[0], trace[5])
    ]
    return {
        "reference": [(0.9, {})],
        "exact": exact,
        "prism": prism,
        "trace": trace,
        "variants": variants,
        "bf16": bf16,
    }


def write_task(folder, name, parts=None):
    """One task's folder; returns {part: records}."""
    metric = METRICS[name]
    place = folder / name
    (place / "codebooks").mkdir(parents=True)
    written, known = {}, {}
    for part, points in (parts or grid()).items():
        records, lines = [], []
        for quality, options in points:
            identity = known.setdefault(json.dumps(options, sort_keys=True), f"{len(known):016x}")
            record, line = scored(metric, quality, identity, **options)
            records.append(record)
            lines.append(line)
            if options.get("codebook"):
                args = "--input test.safetensors --samples 0..999"
                (place / "codebooks" / (options["codebook"] + ".args")).write_text(args)
        write_lines(place / f"{part}.jsonl", records)
        write_lines(place / f"{part}.scores", lines)
        written[part] = records
    return written


def write_latency(folder, records):
    """Predicted times of some records: fewer bits are faster."""
    write_lines(
        folder / "latency.predicted",
        [
            {
                **record, "accuracy": None, "source": "predicted",
                "spec": record["spec"] | {"rate": ["10Mbps"], "device-gflops": [20.0]},
                "time": {"links": [{"latency_s": statistics([0.01 + record["accuracy"]["bits_per_inference"] / 1e7])}]},
            }
            for record in records
        ],
    )  # fmt: skip


def write_lines(path, objects):
    path.write_text("".join(json.dumps(o) + "\n" for o in objects), encoding="utf-8")
