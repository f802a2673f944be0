"""The TRACE reproduction: bits, ratios, times, buffers, topologies and tensor parallelism.

Reads from the folder (written by experiments/reproduce.sh):
  trace-formulas.jsonl, topologies.jsonl, tensor.jsonl            records by formula
  trace-latency.jsonl, trace-ratios.jsonl, trace-buffers.jsonl, bert-share.jsonl     measured
  timeline-<strategy>.json                                        timelines of one iteration
  tables.json, tables.md      published cells beside ours, by `thinwire tables`
"""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from thinwire_analysis import checks, trace_checks, trace_figures, trace_report, trace_tables
from thinwire_analysis.frame import links_frame
from thinwire_analysis.markdown import to_markdown
from thinwire_analysis.rates import rate_text
from thinwire_analysis.records import finished, load_records
from thinwire_analysis.table_cells import load_cells
from thinwire_analysis.timeline_figure import draw_timelines, load_events

SWEEPS = (
    "trace-formulas",
    "trace-latency",
    "trace-ratios",
    "trace-buffers",
    "bert-share",
    "topologies",
    "tensor",
)
TIMELINES = ("voltage", "prism", "astra", "trace-b")
PAPER_RATE_MBPS = 10 * 2**20 / 1e6
TOPOLOGY_RATE_MBPS = 100.0
TENSOR_DEVICES = 6
TIMELINE_LAYER = 5


@dataclass(frozen=True)
class Reproduction:
    """What was found; `checks` are in the order of the summary, `frames` by sweep."""

    frames: dict
    cells: list
    timelines: dict
    checks: list
    environment: dict


def reproduce(results, schema):
    """Loads the folder's records and judges them. Raises InputError when a file is unusable."""
    results = Path(results)
    records = {name: load_records(results / f"{name}.jsonl", schema=schema) for name in SWEEPS}
    frames = {
        name: links_frame(finished(found, f"{name}.jsonl")) for name, found in records.items()
    }
    cells = load_cells(results / "tables.json")
    verdicts = [checks.check_finished(found, name) for name, found in records.items()]
    verdicts.append(checks.check_counts([r for found in records.values() for r in found]))
    verdicts.append(
        trace_checks.check_equal_cells(
            cells, ("compression_vit",), "compression ratios equal to the printed digit", 6
        )
    )
    verdicts.append(
        trace_checks.check_equal_cells(
            cells, ("communication_p2",), "communication times equal to the printed digit", 5
        )
    )
    measured = frames["trace-latency"]
    verdicts.append(trace_checks.check_hidden(measured, PAPER_RATE_MBPS))
    verdicts += trace_checks.check_ratios(frames["trace-ratios"])
    return Reproduction(
        frames=frames,
        cells=cells,
        timelines={name: load_events(results / f"timeline-{name}.json") for name in TIMELINES},
        checks=verdicts,
        environment=finished(records["trace-latency"])[0]["environment"],
    )


def write_outputs(found, results, out):
    """Writes figures, CSV and Markdown tables and report.md into `out`."""
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    frames = found.frames
    formulas = frames["trace-formulas"]
    trace_figures.draw_communication(
        formulas[formulas.model == "vit-base-16"],
        "ViT-B/16: communication time by formula",
        out / "communication.png",
    )
    trace_figures.draw_compression(
        formulas, "Compression ratio of TRACE", out / "compression.png"
    )
    trace_figures.draw_breakdown(
        frames["trace-latency"],
        PAPER_RATE_MBPS,
        f"ViT-B/16 at {rate_text(PAPER_RATE_MBPS)}: latency, measured",
        out / "breakdown.png",
    )
    trace_figures.draw_buffers(frames["trace-buffers"], out / "buffers.png")
    trace_figures.draw_topologies(
        frames["topologies"], TOPOLOGY_RATE_MBPS, out / "topologies.png"
    )
    trace_figures.draw_tensor(frames["tensor"], TENSOR_DEVICES, out / "tensor.png")
    draw_timelines(
        found.timelines,
        TIMELINE_LAYER,
        f"Block {TIMELINE_LAYER} of ViT-B/16 on two devices",
        out / "timelines.png",
    )
    tables = {
        "astra-ratios": trace_tables.ratios_table(frames["trace-ratios"], found.cells),
        "topologies": trace_tables.topologies_table(frames["topologies"]),
        "tensor-crossings": trace_tables.tensor_table(frames["tensor"]),
        "bert-share": trace_tables.share_table(frames["bert-share"]),
    }
    for name, table in tables.items():
        table.to_csv(out / f"{name}.csv", index=False)
    pd.concat(frames.values()).to_csv(out / "points.csv", index=False)
    compared = (Path(results) / "tables.md").read_text(encoding="utf-8")
    text = trace_report.assemble(
        found, {name: to_markdown(table) for name, table in tables.items()}, compared
    )
    (out / "report.md").write_text(text, encoding="utf-8")


def summary(found):
    """The lines that end a reproduction."""
    return "\n".join(str(check) for check in found.checks)
