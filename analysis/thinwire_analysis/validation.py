"""Holds the clocks' links against a kernel-shaped network and a third party's simulator."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from thinwire_analysis import validation_checks, validation_figure, validation_report
from thinwire_analysis.errors import InputError
from thinwire_analysis.frame import links_frame
from thinwire_analysis.records import finished, load_lines, load_records

LINK_SCHEMA, SMPI_SCHEMA, CABLES_SCHEMA = (
    "thinwire.link-check/1", "thinwire.smpi/1", "thinwire.netns/1",
)  # fmt: skip
POINT = ["devices", "rate_mbps", "bytes"]
# What measured or simulated a point: the record's clock, or SMPI's model.
MEDIA = {
    "emulated": "emulated",
    "throttled": "throttled",
    "native": "kernel (tc tbf)",
    "cm02": "SimGrid CM02",
    "cm02-tcp": "SimGrid CM02, TCP factor",
    "smpi": "SimGrid SMPI",
}


@dataclass(frozen=True)
class Study:
    """Everything that one run of the study left.

    links: one row a point and medium (POINT, medium, time_s, p10_s, p90_s, formula_s, error)
    cables: what the devices' cables carried, by (devices, rate_mbps)
    runs: whole inferences, one row a clock, strategy and rate
    """

    links: pd.DataFrame
    cables: dict
    runs: pd.DataFrame
    environment: dict
    checks: list


def judge(folder, schema):
    """Reads a results folder. Raises InputError when a file is missing or broken."""
    folder = Path(folder)
    records = [
        record
        for clock in ("emulated", "throttled", "native")
        for record in load_lines(folder / f"link-{clock}.jsonl", LINK_SCHEMA)
    ]
    links = links_table(records, load_lines(folder / "smpi.jsonl", SMPI_SCHEMA))
    cables = load_cables(folder)
    runs = runs_table(
        finished(load_records(folder / f"runs-{clock}.jsonl", schema), folder)
        for clock in ("emulated", "native")
    )
    checks = validation_checks.check_all(links, cables, runs)
    return Study(links, cables, runs, records[0]["environment"], checks)


def links_table(link_checks, simulated):
    """The times of all media beside the link model's, one row a point and medium.

    A simulated point is held against the formula that the emulated clock's record of it gives.
    """
    rows = [_measured_row(record) for record in link_checks]
    formula = {
        tuple(row[name] for name in POINT): row["formula_s"]
        for row in rows
        if row["medium"] == "emulated"
    }
    for record in simulated:
        point = (record["devices"], record["rate_bit_per_s"] / 1e6, record["bytes"])
        if point in formula:
            time_s = record["simulated_s"]
            rows.append(
                dict(zip(POINT, point), medium=record["model"], time_s=time_s, p10_s=time_s,
                     p90_s=time_s, formula_s=formula[point])
            )  # fmt: skip
    table = pd.DataFrame(rows)
    # A point that was measured again counts with its latest times.
    table = table.drop_duplicates([*POINT, "medium"], keep="last").reset_index(drop=True)
    table["error"] = table.time_s / table.formula_s - 1
    return table


def load_cables(folder):
    """{(devices, rate_mbps): what netns.sh's --counters says}, from cables-*.json."""
    cables = {}
    for path in sorted(Path(folder).glob("cables-*.json")):
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: {error}") from error
        if found.get("schema") != CABLES_SCHEMA:
            raise InputError(f"{path}: schema {found.get('schema')!r}, expected {CABLES_SCHEMA!r}")
        devices = found["devices"]
        cables[len(devices), devices[0]["rate_bit_per_s"] / 1e6] = found
    if not cables:
        raise InputError(f"{folder}: no cables-*.json of jobs/netns.sh")
    return cables


def runs_table(files):
    """One row a strategy and rate: p50 of both clocks in seconds, and how far emulated is off."""
    emulated, native = (_runs(records) for records in files)
    table = emulated.merge(
        native, on=["label", "devices", "rate_mbps"], suffixes=("_emulated_s", "_native_s")
    )
    table["error"] = table.p50_emulated_s / table.p50_native_s - 1
    return table


def write_outputs(study, _results, out):
    """table.csv, validation.png and validation.md, below `out`."""
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    study.links.to_csv(out / "table.csv", index=False)
    validation_figure.draw_errors(study.links, MEDIA, out / "validation.png")
    text = validation_report.assemble(study, MEDIA)
    (out / "validation.md").write_text(text, encoding="utf-8")


def summary(study):
    """The lines that end the study."""
    return "\n".join(str(check) for check in study.checks)


def _measured_row(record):
    samples = record["measured_s"]["samples"]
    low, high = np.percentile(samples, [10, 90])
    return {
        "devices": record["devices"],
        "rate_mbps": record["link"]["rate_bit_per_s"] / 1e6,
        "bytes": record["bytes"],
        "medium": record["clock"],
        "time_s": record["measured_s"]["p50"],
        "p10_s": float(low),
        "p90_s": float(high),
        "formula_s": record["formula_s"],
        "passes": len(samples) + record["warmup"],
    }


def _runs(records):
    frame = links_frame(records)
    return frame[["label", "devices", "rate_mbps", "p50_s"]].rename(columns={"p50_s": "p50"})
