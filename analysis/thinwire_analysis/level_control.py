"""Level controllers beside fixed levels, on links that change.

  python -m thinwire_analysis.level_control FOLDER [--schema FILE]

reads what `thinwire eval --rate-trace --scores` left under FOLDER, prints a table and a verdict for
every controller at every place (model, strategy, devices, link). The claim is that no fixed level
that scores as well is faster. Every level meets the same samples at the same places of the trace,
so that differences are taken sample by sample, with 95 % bootstrap intervals:

  FAIL  a level with the controller's score or a better one is faster, by more than chance and
        more than 0.1 % (what separates clocks that model the same link)
  tie   a level may be: its score or its time differs by no more than that
  pass  every level is slower, as slow, or scores worse by more than chance

Each interval is of one comparison. What is held to the claim is `adaptive`; `probing`, which knows
neither rate nor latency, is reported beside it. Exit status: 0 nothing that is held to it fails, 1
something does, 2 bad usage.
"""

import argparse
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from thinwire_analysis.accuracy_format import change_text, metric_name, value_text
from thinwire_analysis.accuracy_frame import is_rising
from thinwire_analysis.accuracy_scores import metric_values, resampled_weights
from thinwire_analysis.beyond_records import CONTROLLERS, coded_name, folder_scores
from thinwire_analysis.checks import Check, check_counts
from thinwire_analysis.errors import InputError
from thinwire_analysis.markdown import to_markdown
from thinwire_analysis.records import load_records, load_schema, spec_of, without_devices

HELD = "adaptive"
PLACE = ["model", "strategy", "devices", "link", "message_latency_s"]
SAME, NEGLIGIBLE = 1e-9, 1e-3  # of a latency: rounding, and what nobody would notice
PASS, TIE, FAIL = "pass", "tie", "FAIL"


@dataclass(frozen=True)
class Rival:
    """A fixed level less the controller: (difference, low, high) of a 95 % interval.

    score: of the metric   time: share of the controller's mean latency
    """

    level: str
    metric: str
    score: tuple
    time: tuple

    @property
    def gain(self):
        """(gain, least, most) in score: upwards is better."""
        found, low, high = self.score
        return self.score if is_rising(self.metric) else (-found, -high, -low)

    @property
    def may_score_as_well(self):
        return self.gain[2] >= 0

    @property
    def may_win(self):
        return self.may_score_as_well and self.time[1] < -SAME

    @property
    def wins(self):
        return self.gain[0] >= 0 and self.time[2] < -NEGLIGIBLE

    @property
    def time_text(self):
        time, low, high = (100 * share for share in self.time)
        return f"{time:+.3f} [{low:+.3f}, {high:+.3f}]"

    @property
    def score_text(self):
        return change_text(self.metric, *self.score)

    def __str__(self):
        return (
            f"beside it K = {self.level}: time (%) {self.time_text}, "
            f"{metric_name(self.metric)} {self.score_text}"
        )


@dataclass(frozen=True)
class Verdict:
    """Of a controller at a place, and every fixed level beside it.

    own, fixed: rows of timed_frame   rivals: one a fixed level
    rival: the one that decides; None where all score worse
    """

    controller: str
    place: tuple
    outcome: str
    rival: Rival
    own: pd.Series
    rivals: list
    fixed: pd.DataFrame

    def __str__(self):
        own = self.own
        beside = self.rival or "every fixed level scores worse by more than chance"
        return (
            f"{self.outcome}  {self.controller}: {name_of(self.place)}: "
            f"{metric_name(own.metric)} {value_text(own.metric, own.value)} in "
            f"{ms_text(own.mean_s)} ms; {beside}"
        )


def timed_frame(records, scores=None):
    """One row a record and link: PLACE, level (a number, or who chooses), metric, value (of the
    score), mean_s, wait_s (of an inference), index_bits (mean of an index), times_s (of every
    sample), scores (its PointScores, or None).

    scores: {id: PointScores}; without a point's own its score has no interval
    """
    rows = []
    for record in records:
        if record["status"] != "ok" or not record.get("time") or not record.get("accuracy"):
            continue
        own = (scores or {}).get(record["id"])
        for link in record["time"]["links"]:
            rows.append({**_point(record), **_times(link), "scores": own})
            rows[-1]["link"] = coded_name(rows[-1]["link"], spec_of(record))
    if not rows:
        raise InputError("no record has scores and times (thinwire eval --rate-trace)")
    return pd.DataFrame(rows)


def judge(frame):
    """A Verdict a place and controller. Raises InputError where no fixed level is beside it."""
    found = []
    for place, rows in frame.groupby(PLACE, sort=False):
        fixed = rows[~rows.level.isin(CONTROLLERS)]
        for _, own in rows[rows.level.isin(CONTROLLERS)].iterrows():
            if fixed.empty:
                raise InputError(f"{own.level}: {name_of(place)}: no fixed level beside it")
            rivals = [compare(own, level) for _, level in fixed.iterrows()]
            found.append(Verdict(own.level, place, *_outcome(rivals), own, rivals, fixed))
    return found


def check_held(verdicts):
    """A Check: HELD fails nowhere."""
    own = of_controller(verdicts, HELD)
    return Check(
        f"level control ({HELD}): no fixed level that scores as well is faster",
        bool(own) and all(verdict.outcome != FAIL for verdict in own),
        tally(own),
    )


def of_controller(verdicts, name):
    return [verdict for verdict in verdicts if verdict.controller == name]


def tally(verdicts):
    """`12 pass, 2 tie, 1 fail of 15 places`"""
    counts = {name: sum(v.outcome == name for v in verdicts) for name in (PASS, TIE, FAIL)}
    return (
        f"{counts[PASS]} pass, {counts[TIE]} tie, {counts[FAIL]} fail of {len(verdicts)} places"
    )


def name_of(place):
    """For people: 'vit-cifar10 trace-b P=2, zigbee'."""
    model, strategy, devices, link, latency_s = place
    return f"{model} {strategy} P={devices}, {link}" + (
        f" + {1e3 * latency_s:g} ms a message" if latency_s else ""
    )


def ms_text(seconds):
    """Four digits or more, in milliseconds: 8.523, 70046."""
    ms = 1e3 * seconds
    return f"{ms:.4g}" if ms < 1e4 else f"{ms:.0f}"


def table(frame):
    """For people: a row a level, the controllers' beside it."""
    return pd.DataFrame(
        {
            "place": [name_of(row) for row in frame[PLACE].itertuples(index=False)],
            "level": [f"K = {x}" if x not in CONTROLLERS else x for x in frame.level],
            "bits an index": frame.index_bits.map("{:.2f}".format),
            "metric": frame.metric.map(metric_name),
            "score": [value_text(row.metric, row.value) for row in frame.itertuples()],
            "mean latency (ms)": frame.mean_s.map(ms_text),
            "of it waiting (ms)": frame.wait_s.map(ms_text),
        }
    )


def _outcome(rivals):
    """(outcome, the rival that decides)"""
    for outcome, close in (
        (FAIL, [rival for rival in rivals if rival.wins]),
        (TIE, [rival for rival in rivals if rival.may_win]),
        (PASS, [rival for rival in rivals if rival.may_score_as_well]),
    ):
        if close:
            return outcome, min(close, key=lambda rival: rival.time[0])
    return PASS, None


def compare(own, level):
    """The Rival that a level is; rows of timed_frame. Raises InputError for other samples."""
    times = own.times_s, level.times_s
    if len(times[0]) != len(times[1]):
        raise InputError(
            f"level {level.level} has times of {len(times[1])} samples, {own.level} of "
            f"{len(times[0])}: the same samples are needed"
        )
    drawn = _weights(len(times[0]))
    time = _interval((drawn @ times[1]) / (drawn @ times[0]) - 1)
    score = (level.value - own.value,) * 3
    if own.scores is not None and level.scores is not None:
        drawn = _weights(len(own.scores))
        score = _interval(np.subtract(
            *(metric_values(own.metric, row.scores, drawn) for row in (level, own))
        ))  # fmt: skip
    return Rival(level.level, own.metric, score, time)


_weights = lru_cache(maxsize=2)(resampled_weights)


def _interval(differences):
    """(of the set itself, low, high)"""
    return (differences[0], *np.percentile(differences[1:], (2.5, 97.5)))


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
        "times_s": np.asarray(link["latency_s"]["samples"]),
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="thinwire_analysis.level_control")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--schema", type=Path, default="schema/thinwire.result-1.schema.json")
    given = parser.parse_args(arguments)
    try:
        schema = load_schema(given.schema)
        files = sorted(given.folder.rglob("*.jsonl"))
        records = [r for file in files for r in load_records(file, schema, without_devices)]
        frame = timed_frame(records, folder_scores(given.folder))
        verdicts = judge(frame)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    shown = frame.sort_values(PLACE, kind="stable")
    print(to_markdown(table(shown)))
    for name in reversed(CONTROLLERS):
        own = of_controller(verdicts, name)
        print("\n".join([*map(str, own), f"{name}: {tally(own)}\n"]))
    checks = [check_held(verdicts), check_counts(records)]
    print("\n".join(map(str, checks)))
    return 0 if all(check.passed for check in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
