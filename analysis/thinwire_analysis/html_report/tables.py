"""The report's tables: plain rows of text, which the template turns into HTML."""

import json
from collections import Counter
from dataclasses import dataclass

import numpy as np

from thinwire_analysis.environment import flat
from thinwire_analysis.errors import InputError
from thinwire_analysis.frame import links_of
from thinwire_analysis.html_report.catalogue import plain
from thinwire_analysis.html_report.groups import curve_labels, timed_groups
from thinwire_analysis.latency import cuts_table
from thinwire_analysis.rates import rate_text
from thinwire_analysis.records import spec_of


@dataclass(frozen=True)
class Table:
    """rows: lists of text, aligned with `header`; `marked` rows deserve a look"""

    title: str
    header: list
    rows: list
    marked: frozenset = frozenset()
    note: str = ""


def records_table(folder):
    """One row a record and link setting of everything that finished."""
    header = [
        "file", "model", "strategy and options", "P", "clock", "link", "p50 (ms)", "p10 (ms)",
        "p90 (ms)", "compute (ms)", "waiting (ms)", "hidden (ms)", "bits a device", "CR", "samples",
        "score", "status",
    ]  # fmt: skip
    rows = []
    for file, records in folder.sweeps.items():
        done = [record for record in records if record["status"] == "ok"]
        for record, label in zip(done, curve_labels(list(map(spec_of, done)))):
            rows += [_record_row(file, record, label, link) for link in links_of(record) or [None]]
    return Table(
        "Every record", header, rows,
        note="One row a record and link setting. Bits: nominal, published by one device in one "
        "inference. A record of `thinwire eval` has no times; its samples are those it scored.",
    )  # fmt: skip


def _record_row(file, record, label, link):
    spec, traffic = spec_of(record), record["traffic"]
    times, count = _times(link)
    score = record.get("accuracy")
    if link is None:
        count = score["samples"] if score else 0
    if spec.get("repeat"):
        label += f", repeat {spec['repeat']}"
    return [
        file.removesuffix(".jsonl"), spec["model"], label, str(spec["devices"]),
        record["source"] if record["source"] == "predicted" else str(spec.get("clock") or "–"),
        _link_text(link["link"]) if link else "–", *(plain(None if s is None else 1e3 * s) for s in times),
        plain(traffic.get("nominal_bits_per_inference")), plain(traffic.get("compression_rate")),
        str(count), f"{score['metric']} {score['value']:.4g}" if score else "–", record["status"],
    ]  # fmt: skip


def _times(link):
    """([p50, p10, p90, compute, waiting, hidden] in seconds, number of samples); of no link None."""
    if link is None:
        return [None] * 6, 0
    samples = link["latency_s"]["samples"]
    low, high = np.percentile(samples, [10, 90]) if samples else [link["latency_s"]["p50"]] * 2
    parts = [link.get(f"{part}_s", {}).get("p50") for part in ("compute", "wait", "hidden")]
    return [link["latency_s"]["p50"], low, high, *parts], len(samples)


def _link_text(link):
    rates = link["rate_bit_per_s"]
    rates = rates if isinstance(rates, list) else [rates]
    names = [rate_text(float("nan") if rate is None else rate / 1e6) for rate in rates]
    name = names[0] if len(set(names)) == 1 else ", ".join(names)
    if "rate_trace" in link:
        name = f"{link['rate_trace']['file']} (mean {name})"
    latency = f", {1e3 * link['latency_s']:g} ms" if link.get("latency_s") else ""
    return f"{name}{latency}, {link['topology']}"


def unfinished_table(folders):
    """Failed and skipped points with their reasons."""
    rows = [
        [
            f"{folder.name}/{file}", spec_of(record)["strategy"], str(spec_of(record)["devices"]),
            record["id"], record["status"], str(record.get("reason")),
        ]
        for folder in folders
        for file, records in folder.sweeps.items()
        for record in records
        if record["status"] != "ok"
    ]  # fmt: skip
    header = ["file", "strategy", "P", "id", "status", "reason"]
    return Table("Failed and skipped points", header, rows, frozenset(range(len(rows))))


def published_tables(folder, documents):
    """The paper's cells beside ours, as `thinwire tables` compared them: a Table a published one."""
    tables = []
    for document in documents:
        described = {table["key"]: table for table in document["tables"]}
        if not folder.cells or not {cell["table"] for cell in folder.cells} <= set(described):
            continue
        for key, table in described.items():
            made = _compared(document, table, [c for c in folder.cells if c["table"] == key])
            if made.rows:
                tables.append(made)
    return tables


def _compared(document, table, cells):
    labels = {column["key"]: column.get("label", column["key"]) for column in table["columns"]}
    printed = [cell for cell in cells if cell["published"] is not None]
    rows = [
        [
            cell["row"], labels.get(cell["column"], cell["column"]), cell["unit"] or "",
            str(cell["published"]), _or_dash(cell["ours"]), _or_dash(cell["difference"]),
            {True: "yes", False: "no"}.get(cell["equal"], "–"),
        ]
        for cell in printed
    ]  # fmt: skip
    differing = frozenset(i for i, cell in enumerate(printed) if cell["equal"] is False)
    judged = sum(cell["equal"] is not None for cell in printed)
    note = (
        f"{document['source']}, {table['place']}: {judged - len(differing)} of {judged} compared "
        f"cells equal to the printed digit. A dash: not in the records, or not to be compared."
    )
    header = ["row", "quantity", "unit", "published", "ours", "difference", "equal"]
    return Table(table["title"], header, rows, differing, note)


def _or_dash(value):
    return "–" if value in (None, "") else str(value)


def cut_tables(folder, published):
    """Published cuts of the latency beside ours, of each group of records that has the points."""
    tables = []
    if published is None:
        return tables
    done = [record for record in folder.records if record["status"] == "ok"]
    for group in timed_groups(done):
        try:
            table = cuts_table({"ours": group.frame}, published)
        except InputError:
            continue  # this group lacks the single device or a published point
        rows = [[str(value) for value in row] for row in table.itertuples(index=False)]
        note = f"Latency below the single device's at {published.rate_mbps:g} Mbps, by medians."
        tables.append(Table(f"Cut of the latency: {group.title}", list(table.columns), rows, note=note))
    return tables


def environments(folders):
    """[(where, {name: value})] of the machines and builds behind the records, each once."""
    where, found = {}, {}
    for folder in folders:
        for file, records in folder.sweeps.items():
            for record in records:
                if record.get("environment"):
                    text = json.dumps(record["environment"], sort_keys=True)
                    found[text] = record["environment"]
                    where.setdefault(text, Counter())[f"{folder.name}/{file}"] += 1
    return [
        (", ".join(f"{file} ({count})" for file, count in where[text].items()), dict(flat(section)))
        for text, section in found.items()
    ]


def specs(folder):
    """[(file, number of records, {option: values})]: of each option its values in the file."""
    found = []
    for file, records in folder.sweeps.items():
        options = {}
        for record in records:
            for option, value in record["spec"].items():
                options.setdefault(option, Counter())[_value_text(value)] += 1
        said = {
            option: ", ".join(values)
            for option, values in options.items()
            if set(values) != {"null"}
        }
        found.append((file, len(records), said))
    return found


def _value_text(value):
    return value if isinstance(value, str) else json.dumps(value).strip("[]").replace('"', "")
