#!/usr/bin/env python3
"""Tables of what lost packets cost, in Markdown, from the records of loss.sh.

Usage: loss_table.py DIR
DIR holds accuracy.jsonl (eval, skip and reuse) and latency.predicted (predict, retransmit).
Exit status: 0, or 1 when a record's counted bits are not the predicted ones or a record is not ok.
"""

import json
import pathlib
import sys


def read(file):
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def table(title, head, rows, loss_rates):
    """rows: {(labels): {loss rate: text}}"""
    lines = [f"## {title}", ""]
    lines.append("| " + " | ".join([*head, *(f"{100 * rate:g} %" for rate in loss_rates)]) + " |")
    lines.append("| --- " * len(head) + "| ---: " * len(loss_rates) + "|")
    for labels, cells in rows.items():
        texts = [cells.get(rate, "") for rate in loss_rates]
        lines.append("| " + " | ".join([*labels, *texts]) + " |")
    return "\n".join([*lines, ""])


def by_policy(records, text):
    """A row a strategy and policy; what loses nothing is under both."""
    rows = {}
    for policy in ("skip", "reuse"):
        for record in records:
            spec = record["spec"]
            if spec["loss"] == 0 or spec["on-loss"] == policy:
                rows.setdefault((spec["strategy"], policy), {})[spec["loss"]] = text(record)
    return dict(sorted(rows.items()))


def accuracy(record):
    return f"{100 * record['accuracy']['value']:.1f}"


def agreement(record):
    return f"{100 * record['accuracy']['agreement']['top1']:.1f}"


def lost_rows(record):
    losses = record["traffic"].get("losses")
    return f"{100 * losses['lost_rows_fraction']:.1f}" if losses else "0"


def link_name(link):
    rate = link["rate_bit_per_s"] / 1e6
    return f"{rate:g} Mbit/s"


def latencies(records):
    rows = {}
    for record in records:
        spec = record["spec"]
        for entry in record["time"]["links"]:
            key = (spec["strategy"], link_name(entry["link"]))
            times = entry["latency_s"]
            text = f"{1e3 * times['mean']:.1f} ({1e3 * times['p99']:.1f})"
            rows.setdefault(key, {})[spec["loss"]] = text
    return rows


def problems(scored, predicted):
    found = []
    for record in [*scored, *predicted]:
        name = f"{record['spec']['strategy']} at loss {record['spec']['loss']}"
        if record["status"] != "ok":
            found.append(f"{name}: {record['reason']}")
        elif record["checks"]["counted_equals_predicted"] is False:
            found.append(f"{name}: counted figures are not the predicted ones")
    return found


def main(folder):
    scored = read(folder / "accuracy.jsonl")
    predicted = read(folder / "latency.predicted")
    found = problems(scored, predicted)
    for problem in found:
        print(problem, file=sys.stderr)
    if found:
        return 1
    rates = sorted({record["spec"]["loss"] for record in scored})
    both = ["strategy", "on-loss"]
    print(f"# Lost packets: {scored[0]['spec']['model']}, P = {scored[0]['spec']['devices']}\n")
    print(table("Metric, in hundredths", both, by_policy(scored, accuracy), rates))
    print(table("Agreement with the single device, %", both, by_policy(scored, agreement), rates))
    print(table("Rows that did not arrive, %", both, by_policy(scored, lost_rows), rates))
    title = "Predicted latency with retransmission, ms: mean (99th percentile)"
    print(table(title, ["strategy", "link"], latencies(predicted), rates))
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1])))
