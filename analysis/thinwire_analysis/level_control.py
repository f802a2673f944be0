"""Level controllers beside fixed levels, on links that change.

  python -m thinwire_analysis.level_control FOLDER [--schema FILE]

reads the records of `thinwire eval --rate-trace` under FOLDER, prints a table and a verdict for
every controller at every place (model, strategy, devices, link). What is held to pass is
`adaptive`; `probing`, which knows neither rate nor latency, is reported beside it. Exit status: 0
all that is held to passes, 1 something does not.
"""

import argparse
import sys
from pathlib import Path

import pandas as pd

from thinwire_analysis.checks import Check, check_counts
from thinwire_analysis.errors import InputError
from thinwire_analysis.markdown import to_markdown
from thinwire_analysis.records import load_records, load_schema, spec_of

CONTROLLERS = ("adaptive", "probing")
HELD = "adaptive"
PLACE = ["model", "strategy", "devices", "link", "message_latency_s"]
LOWER_IS_BETTER = ("bits_per_byte", "perplexity")
SAME = 1e-9  # of a latency


def timed_frame(records):
    """One row a record and link: PLACE, level (a number, or who chooses), metric, value (of the
    score), mean_s, wait_s (of an inference), index_bits (mean of an index).
    """
    rows = []
    for record in records:
        if record["status"] != "ok" or not record.get("time") or not record.get("accuracy"):
            continue
        for link in record["time"]["links"]:
            rows.append({**_point(record), **_times(link)})
    if not rows:
        raise InputError("no record has scores and times (thinwire eval --rate-trace)")
    return pd.DataFrame(rows)


def judge(frame):
    """A Check a place and controller: no fixed level is as good and faster."""
    checks = []
    for place, rows in frame.groupby(PLACE, sort=False):
        fixed = rows[~rows.level.isin(CONTROLLERS)]
        for _, own in rows[rows.level.isin(CONTROLLERS)].iterrows():
            checks.append(_verdict(f"{own.level}: {name_of(place)}", own, fixed))
    return checks


def name_of(place):
    """For people: 'vit-cifar10 trace-b P=2, zigbee'."""
    model, strategy, devices, link, latency_s = place
    return f"{model} {strategy} P={devices}, {link}" + (
        f" + {1e3 * latency_s:g} ms a message" if latency_s else ""
    )


def table(frame):
    """For people: a row a level, the controllers' beside it."""
    return pd.DataFrame(
        {
            "place": [name_of(row) for row in frame[PLACE].itertuples(index=False)],
            "level": frame.level,
            "bits an index": frame.index_bits.map("{:.2f}".format),
            "score": frame.value.map("{:.4f}".format),
            "mean latency (ms)": (1e3 * frame.mean_s).map("{:.4g}".format),
            "of it waiting (ms)": (1e3 * frame.wait_s).map("{:.4g}".format),
        }
    )


def _verdict(name, own, fixed):
    sign = -1 if own.metric in LOWER_IS_BETTER else 1
    as_good = fixed[sign * (fixed.value - own.value) >= 0]
    score = f"{own.value:.4f} in {1e3 * own.mean_s:.4g} ms"
    if fixed.empty:
        return Check(name, False, f"{score}, no fixed level beside it")
    if as_good.empty:
        return Check(name, True, f"{score}; no fixed level scores as well")
    rival = as_good.loc[as_good.mean_s.idxmin()]
    ratio = own.mean_s / rival.mean_s
    return Check(
        name,
        ratio <= 1 + SAME,
        f"{score}, {ratio:.3f} of the time of K = {rival.level}, the fastest fixed level that "
        f"scores as well ({rival.value:.4f})",
    )


def _point(record):
    spec, score, codebook = spec_of(record), record["accuracy"], record.get("codebook") or {}
    chosen = spec["level"] if spec.get("level") in CONTROLLERS else None
    active = codebook.get("active_codewords", 1)
    bits = codebook.get("mean_index_bits") if chosen else max(1, (active - 1).bit_length())
    return {
        "model": spec["model"],
        "strategy": spec["strategy"],
        "devices": spec["devices"],
        "level": chosen or str(active),
        "index_bits": float("nan") if bits is None else bits,
        "metric": score["metric"],
        "value": score["value"],
    }


def _times(link):
    trace = link["link"].get("rate_trace")
    rate = link["link"]["rate_bit_per_s"]
    return {
        "link": Path(trace["file"]).stem if trace else f"{rate} bit/s",
        "message_latency_s": link["link"]["latency_s"],
        "mean_s": link["latency_s"]["mean"],
        "wait_s": link["wait_s"]["mean"],
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="thinwire_analysis.level_control")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--schema", type=Path, default="schema/thinwire.result-1.schema.json")
    given = parser.parse_args(arguments)
    try:
        schema = load_schema(given.schema)
        files = sorted(given.folder.rglob("*.jsonl"))
        records = [record for file in files for record in load_records(file, schema)]
        frame = timed_frame(records)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    shown = frame.sort_values(PLACE, kind="stable")
    print(to_markdown(table(shown)))
    judged = judge(frame)
    beside = [check for check in judged if not check.name.startswith(HELD)]
    checks = [check for check in judged if check not in beside] + [check_counts(records)]
    for check in beside:
        print(f"{'note' if check.passed else 'WORSE'}  {check.name}: {check.detail}")
    print("\n".join(str(check) for check in checks))
    return 0 if all(check.passed for check in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
