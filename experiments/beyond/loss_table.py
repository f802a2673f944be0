#!/usr/bin/env python3
"""Tables of what lost packets cost, in Markdown, from the records of loss.sh.

Usage: loss_table.py DIR
DIR holds accuracy.jsonl (eval, skip and reuse) and latency.predicted (predict, retransmit).
Exit status: 0, or 1 when a verdict below the tables is not `pass`.
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


# metric: (factor, decimals, name with unit)
PRINTED = {"accuracy": (100, 1, "Top-1, %"), "spearman": (100, 1, "Spearman, x 100")}


def score(record):
    factor, decimals, _ = PRINTED.get(record["accuracy"]["metric"], (1, 4, ""))
    return f"{factor * record['accuracy']['value']:.{decimals}f}"


def score_title(scored):
    """The metric, and how far chance goes: half of the widest interval."""
    metric = scored[0]["accuracy"]["metric"]
    factor, decimals, name = PRINTED.get(metric, (1, 4, metric.replace("_", " ")))
    widths = [high - low for low, high in (r["accuracy"]["interval_95"] for r in scored)]
    return (
        f"{name}, of {scored[0]['accuracy']['samples']} samples (95 % intervals: up to "
        f"±{factor * max(widths) / 2:.{decimals}f})"
    )


def agreement(record):
    return f"{100 * record['accuracy']['agreement']['top1']:.1f}"


def lost_rows(records):
    """A row a strategy: the same packets are lost under both policies."""
    rows = {}
    for record in records:
        losses = record["traffic"].get("losses")
        share = losses["lost_rows_fraction"] if losses else 0
        rows.setdefault((record["spec"]["strategy"],), {})[record["spec"]["loss"]] = (
            f"{100 * share:.1f}"
        )
    return rows


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


def verdicts(scored, predicted):
    """(whether it holds, what, figures)"""
    everything = [*scored, *predicted]
    broken = [r for r in everything if r["status"] != "ok"]
    yield not broken, "every point is finished", (
        f"{len(everything) - len(broken)} of {len(everything)}"
        + "".join(f"; {name(r)}: {r['reason']}" for r in broken)
    )
    wrong = [r for r in scored if r not in broken and not r["checks"]["counted_equals_predicted"]]
    yield not wrong, "counted figures are the predicted ones", (
        f"{len(scored) - len(wrong)} of {len(scored)} scored points" + "".join(
            f"; not {name(r)}" for r in wrong
        )
    )
    whole = [r for r in scored if r not in broken and r["spec"]["loss"] == 0]
    voltage = [r["accuracy"] for r in whole if r["spec"]["strategy"] == "voltage"]
    exact = [accuracy["agreement"]["top1"] for accuracy in voltage]
    yield bool(exact) and min(exact) == 1, "where nothing is lost voltage answers as one device", (
        f"{100 * min(exact, default=0):g} % of the answers"
    )


def name(record):
    return f"{record['spec']['strategy']} at loss {record['spec']['loss']}"


def main(folder):
    scored = read(folder / "accuracy.jsonl")
    predicted = read(folder / "latency.predicted")
    done = [record for record in scored if record["status"] == "ok"]
    rates = sorted({record["spec"]["loss"] for record in scored})
    both = ["strategy", "on-loss"]
    if done:
        print(f"# Lost packets: {done[0]['spec']['model']}, P = {done[0]['spec']['devices']}\n")
        print(table(score_title(done), both, by_policy(done, score), rates))
        title = "Agreement with the single device's answers, %"
        print(table(title, both, by_policy(done, agreement), rates))
        print(table("Rows that did not arrive, %", ["strategy"], lost_rows(done), rates))
    title = "Predicted latency with retransmission, ms: mean (99th percentile)"
    timed = [record for record in predicted if record["status"] == "ok"]
    print(table(title, ["strategy", "link"], latencies(timed), rates))
    judged = list(verdicts(scored, predicted))
    for holds, what, figures in judged:
        print(f"{'pass' if holds else 'FAIL'}  {what}: {figures}")
    return 0 if all(holds for holds, _, _ in judged) else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1])))
