"""Loads the folder of an accuracy study: a subfolder a task, a record file a part.

  <task>/reference.jsonl   the single device on all scored samples
  <task>/exact.jsonl       single, voltage, tensor and pipeline on the samples of the grids
  <task>/prism.jsonl       (P, L) or (P, CR), scaling on and off
  <task>/trace.jsonl       trace-b, trace-nb, astra, trace-2a, trace-1b over P and K
  <task>/variants.jsonl    trace-b with codebooks of other hierarchies and updates
  <task>/bf16.jsonl        some of these points with products in bf16
  <task>/padding.jsonl     padded inputs beside packed ones
  <task>/latency.predicted     times of the same points by `thinwire predict`
  <task>/padding.json      how far real tokens reach (padded_inputs.py)
  <task>/codebooks/*.args  the options that a codebook was trained with
Every part but `reference` may be absent; <part>.scores beside it has the scores of single samples.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from thinwire_analysis.accuracy_frame import point_label, scored_frame
from thinwire_analysis.accuracy_scores import load_scores
from thinwire_analysis.errors import InputError
from thinwire_analysis.records import load_records, spec_of

PARTS = ("reference", "exact", "prism", "trace", "variants", "padding", "bf16")


@dataclass(frozen=True)
class Task:
    """One model on one data set.

    frame: rows of scored_frame with their `part`, one a point of a part
    scores: {id: PointScores}   records: {part: records}   latency: one row a predicted point
    lengths: what padded_inputs.py wrote, or []
    trainings: {codebook file: its options, {name: value}}
    """

    name: str
    frame: pd.DataFrame
    scores: dict
    records: dict
    latency: pd.DataFrame
    lengths: list = field(default_factory=list)
    trainings: dict = field(default_factory=dict)

    @property
    def metric(self):
        """The metric of the task's tables."""
        return self.frame.metric.iloc[0]

    def part(self, *names):
        """The points of some parts, each once, in the order of the files."""
        return self.frame[self.frame.part.isin(names)].drop_duplicates("id")

    def points(self):
        """Every point in fp32 once, in the order of the files."""
        return self.frame[self.frame["dtype"] == "fp32"].drop_duplicates("id")

    def grid(self):
        """The points of the grids and the exact strategies beside them: what figures show."""
        return self.part("exact", "prism", "trace")


def load_study(folder, schema):
    """The tasks of a folder by name. Raises InputError when there is none or one is unusable."""
    folder = Path(folder)
    tasks = [load_task(path, schema) for path in sorted(folder.glob("*")) if _is_task(path)]
    if not tasks:
        raise InputError(f"{folder}: no task (a subfolder with reference.jsonl, see accuracy.sh)")
    return tasks


def load_task(folder, schema=None, parts=PARTS):
    """One Task."""
    records, scores, frames = {}, {}, []
    for part in parts:
        path = folder / f"{part}.jsonl"
        if not path.exists():
            continue
        records[part] = load_records(path, schema=schema)
        done = [record for record in records[part] if record["status"] == "ok"]
        frames.append(scored_frame(done).assign(part=part))
        scores |= load_scores(folder / f"{part}.scores")
    frame = pd.concat([f for f in frames if not f.empty] or [pd.DataFrame()], ignore_index=True)
    if frame.empty:
        raise InputError(f"{folder}: no record has scores")
    return Task(
        folder.name, frame, scores, records, load_latency(folder / "latency.predicted", schema),
        _load_json(folder / "padding.json", []), _load_trainings(folder / "codebooks"),
    )  # fmt: skip


def load_latency(path, schema=None):
    """strategy, devices, label and latency_ms of predicted records at their first link."""
    if not path.exists():
        return pd.DataFrame(columns=["strategy", "devices", "label", "latency_ms"])
    rows = []
    for record in load_records(path, schema=schema):
        if record["status"] != "ok":
            continue
        spec = spec_of(record)
        rows.append(
            {
                "strategy": spec["strategy"],
                "devices": int(spec["devices"]),
                "label": point_label(spec),
                "latency_ms": 1e3 * record["time"]["links"][0]["latency_s"]["p50"],
                "gflops": (spec.get("device_gflops") or [None])[0],
                "rate": (spec.get("rate") or ["unlimited"])[0],
            }
        )
    return pd.DataFrame(rows).drop_duplicates(["strategy", "devices", "label"])


def _is_task(path):
    return path.is_dir() and (path / "reference.jsonl").exists()


def _load_json(path, missing):
    if not path.exists():
        return missing
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error


def _load_trainings(folder):
    """Options of `codebook train` by the codebook's file name, from the files beside them."""
    found = {}
    for path in sorted(folder.glob("*.args")):
        words = path.read_text(encoding="utf-8").split()
        names = [word.removeprefix("--") for word in words[::2]]
        found[path.name.removesuffix(".args")] = dict(zip(names, words[1::2]))
    return found
