"""The PRISM reproduction: latency, duplication and table checks of one results folder.

Reads from the folder (written by experiments/reproduce.sh):
  prism-tables.jsonl, latency-measured.jsonl, latency-modelled.jsonl, duplication.jsonl   records
  tables.json, tables.md      published cells beside ours, by `thinwire tables`
and what the paper prints about latency from results/published/prism.json.
"""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from thinwire_analysis import checks, latency, report
from thinwire_analysis.duplication import duplication_table
from thinwire_analysis.frame import links_frame
from thinwire_analysis.latency_figure import draw_latency
from thinwire_analysis.markdown import to_markdown
from thinwire_analysis.published import PublishedLatency, load_published_latency
from thinwire_analysis.records import finished, load_records
from thinwire_analysis.table_cells import check_cells, load_cells

SWEEPS = ("prism-tables", "latency-measured", "latency-modelled", "duplication")


@dataclass(frozen=True)
class Reproduction:
    """What was found; `checks` are in the order of the summary."""

    published: PublishedLatency
    measured: pd.DataFrame
    modelled: pd.DataFrame
    duplication: pd.DataFrame
    checks: list
    environment: dict
    samples: int


def reproduce(results, published_file, schema):
    """Loads the folder's records and judges them. Raises InputError when a file is unusable."""
    results = Path(results)
    records = {name: load_records(results / f"{name}.jsonl", schema=schema) for name in SWEEPS}
    frames = {
        name: links_frame(finished(found, f"{name}.jsonl")) for name, found in records.items()
    }
    measured, modelled = frames["latency-measured"], frames["latency-modelled"]
    published = load_published_latency(published_file)
    verdicts = [checks.check_finished(found, name) for name, found in records.items()]
    verdicts.append(checks.check_counts([r for found in records.values() for r in found]))
    verdicts += check_cells(load_cells(results / "tables.json"))
    verdicts += checks.check_modelled_cuts(modelled, published)
    verdicts.append(checks.check_measured_order(measured))
    return Reproduction(
        published=published,
        measured=measured,
        modelled=modelled,
        duplication=duplication_table(frames["duplication"]),
        checks=verdicts,
        environment=finished(records["latency-measured"])[0]["environment"],
        samples=int(measured.samples.min()),
    )


def write_outputs(found, results, out):
    """Writes figures, CSV and Markdown tables and report.md into `out`."""
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    draw_latency(
        found.measured,
        found.published,
        "ViT-B/16, batch 1, two threads a device, unicast: measured, "
        f"median and p10-p90 of {found.samples} iterations",
        out / "latency-measured.png",
    )
    draw_latency(
        found.modelled,
        found.published,
        "ViT-B/16, batch 1, unicast: modelled at 160 GFLOP/s a device",
        out / "latency-modelled.png",
    )
    series = {"measured": found.measured, "modelled": found.modelled}
    tables = {
        "latency-cuts": latency.cuts_table(series, found.published),
        "latency-crossings": latency.crossings_table(series, found.published),
        "latency-measured": latency.points_table(found.measured),
        "latency-modelled": latency.points_table(found.modelled),
        "duplication": found.duplication,
    }
    for name, table in tables.items():
        table.to_csv(out / f"{name}.csv", index=False)
        (out / f"{name}.md").write_text(to_markdown(table), encoding="utf-8")
    compared = (Path(results) / "tables.md").read_text(encoding="utf-8")
    text = report.assemble(found, tables, compared)
    (out / "report.md").write_text(text, encoding="utf-8")


def summary(found):
    """The lines that end a reproduction."""
    lines = [str(check) for check in found.checks]
    rate_mbps = found.published.rate_mbps
    for devices, segments in found.published.cuts:
        cut = latency.cut_percent(found.measured, devices, segments, rate_mbps)
        lines.append(
            f"info  measured cut at {rate_mbps:g} Mbps, P={devices} L={segments}: {cut:.1f} %"
        )
    rate = latency.single_flops_per_s(found.measured) / 1e9
    single_ms = 1e3 * latency.single_latency_s(found.measured)
    lines.append(f"info  single device, measured: {single_ms:.1f} ms, {rate:.0f} GFLOP/s")
    return "\n".join(lines)
