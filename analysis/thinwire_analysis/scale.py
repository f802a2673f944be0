"""Where each strategy stops scaling: predicted latency over the number of devices.

Reads scale.jsonl from the folder (written by experiments/scale/run.sh). It is not held against the
schema: records of a thousand devices have thousands of figures each, and thinwire's own tests
check the form of predicted records.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from thinwire_analysis.checks import Check
from thinwire_analysis.frame import links_frame
from thinwire_analysis.markdown import to_markdown
from thinwire_analysis.records import finished, load_records, spec_of
from thinwire_analysis.scale_figure import draw_scale

SWEEP = "scale"
TOLERANCE = 1e-9
KEYS = ["model", "label", "topology", "rate_mbps"]


@dataclass(frozen=True)
class Study:
    """What was found; `checks` are in the order of the summary."""

    frame: pd.DataFrame
    limits: pd.DataFrame
    checks: list


def reproduce(results):
    """Loads the folder's records and judges them. Raises InputError when the file is unusable."""
    path = Path(results) / f"{SWEEP}.jsonl"
    records = load_records(path)
    frame = links_frame(finished(records, path))
    frame["label"] = frame.strategy
    verdicts = [
        check_reasons(records),
        check_one_device(frame),
        check_faster_links(frame),
    ]
    return Study(frame=frame, limits=limits_table(records), checks=verdicts)


def best_points(frame):
    """The row of least latency of each model, strategy, topology and rate; the fewest devices of
    equal ones.
    """
    ordered = frame.sort_values(["p50_s", "devices"], kind="stable")
    return ordered.groupby(KEYS, sort=True).head(1).sort_values(KEYS).reset_index(drop=True)


def best_table(frame):
    """One row a model, strategy and rate: the devices of least latency and what they gain."""
    alone = _alone(frame)
    rows = []
    for point in best_points(frame).itertuples():
        if point.strategy == "single":
            continue
        same = frame[(frame.model == point.model) & (frame.label == point.label)]
        largest = int(same.devices.max())
        rows.append(
            {
                "model": point.model,
                "N": point.tokens,
                "strategy": point.label,
                "rate (Mbps)": f"{point.rate_mbps:g}",
                "best P": point.devices,
                "still gains": "yes" if point.devices == largest else "no",
                "largest P": largest,
                "latency (ms)": f"{1e3 * point.p50_s:.4g}",
                "speed-up": f"{alone[point.model] / point.p50_s:.2f}",
                "waiting (%)": f"{100 * point.wait_p50_s / point.p50_s:.0f}",
            }
        )
    return pd.DataFrame(rows)


def limits_table(records):
    """One row a model and strategy that does not reach all numbers of devices, with the reason."""
    rows = {}
    for record in records:
        spec = spec_of(record)
        if record["status"] != "skipped":
            continue
        key = (spec["model"], spec["strategy"])
        if key not in rows or spec["devices"] < rows[key]["first P left out"]:
            rows[key] = {
                "model": spec["model"],
                "strategy": spec["strategy"],
                "first P left out": int(spec["devices"]),
                "reason": record["reason"],
            }
    return pd.DataFrame(list(rows.values()), columns=[
        "model", "strategy", "first P left out", "reason"])  # fmt: skip


def check_reasons(records):
    """Every point is predicted or says why it cannot be."""
    silent = [r for r in records if r["status"] != "ok" and not r.get("reason")]
    failed = [r for r in records if r["status"] == "failed"]
    done = sum(r["status"] == "ok" for r in records)
    return Check(
        "points predicted or left out with a reason",
        not silent and not failed,
        f"{done} predicted, {len(records) - done} left out of {len(records)}",
    )


def check_one_device(frame):
    """On one device no strategy takes another time than the single device."""
    alone = _alone(frame)
    one = frame[frame.devices == 1]
    off = [
        f"{row.model} {row.label}"
        for row in one.itertuples()
        if not np.isclose(row.p50_s, alone[row.model], rtol=TOLERANCE)
    ]
    return Check(
        "one device takes the single device's time",
        bool(len(one)) and not off,
        ", ".join(sorted(set(off))) or f"{len(one)} points",
    )


def check_faster_links(frame):
    """A faster link makes no point slower."""
    slower = 0
    groups = frame.groupby(["model", "label", "topology", "devices"])
    for _, group in groups:
        times = group.sort_values("rate_mbps").p50_s.to_numpy()
        slower += bool((np.diff(times) > TOLERANCE * times[:-1]).any())
    return Check(
        "no point is slower on a faster link", slower == 0, f"{slower} of {len(groups)} points"
    )


def write_outputs(found, results, out):
    """Writes a figure a model, scale.csv, scale-points.csv and scale.md into `out`."""
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    best = best_table(found.frame)
    best.to_csv(out / "scale.csv", index=False)
    found.frame.to_csv(out / "scale-points.csv", index=False)
    models = list(dict.fromkeys(found.frame.model))
    for model in models:
        draw_scale(found.frame[found.frame.model == model], out / f"scale-{model}.png")
    parts = [
        "# Where each strategy stops scaling",
        "## Checks\n\n" + "\n".join(f"- {check}" for check in found.checks),
        "## Devices of least latency\n\n" + to_markdown(best),
        "## What does not fit\n\n" + to_markdown(found.limits),
        "## Latency over the number of devices\n\n"
        + "\n\n".join(f"![{model}](scale-{model}.png)" for model in models),
    ]
    (out / "scale.md").write_text("\n\n".join(p.strip() for p in parts) + "\n", encoding="utf-8")


def summary(found):
    """The lines that end the study."""
    return "\n".join(str(check) for check in found.checks)


def _alone(frame):
    """Latency of the single device by model."""
    single = frame[frame.strategy == "single"]
    return single.groupby("model").p50_s.median().to_dict()
