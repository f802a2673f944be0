"""Small records of the study beyond the papers, in the schema of `thinwire eval` and `run`."""

from synthetic import record

LABELS = [0, 1, 2, 3]


def evaluated(strategy, devices=2, *, value=0.7, bits=1000.0, model="vit-cifar10", **spec):
    """A record of `thinwire eval` on four pictures. spec: options as flags have them"""
    made = record(strategy, devices, links=[(None, [0.1], [0.1])])
    made["time"]["links"][0]["latency_s"]["p50"] = None
    made["spec"] |= {"model": model, "data": "test.safetensors", "samples": [0, 3], **spec}
    made["id"] = "-".join(map(str, (strategy, devices, model, *spec.values())))
    made["accuracy"] = {
        "metric": "accuracy", "value": value, "samples": 4,
        "interval_95": [value - 0.1, value + 0.1],
        "bits_per_inference": bits, "tokens": {"mean": 64.0, "min": 64, "max": 64},
    }  # fmt: skip
    return made


def scores_of(record, predicted=None):
    """The line of --scores for a record."""
    predicted = LABELS if predicted is None else predicted
    return {"id": record["id"], "predicted": predicted, "label": LABELS}


def timed(strategy, devices=2, *, mean_s=0.1, link=None, model="vit-base-16", **spec):
    """A record of `thinwire run`. link: what its link says beside an unlimited rate"""
    made = record(strategy, devices, links=[(1e6, [mean_s], [mean_s])])
    made["spec"] |= {"model": model, **spec}
    made["time"]["links"][0]["link"] |= link or {}
    name = (link or {}).get("rate_trace", {}).get("file", "")
    made["id"] = "-".join(map(str, (strategy, devices, model, name, *spec.values())))
    return made
