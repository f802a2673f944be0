"""Orderings that the papers state, held against pairs of points scored on the same samples."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from thinwire_analysis.accuracy_frame import is_rising
from thinwire_analysis.accuracy_orderings import ORDERINGS, Ordering
from thinwire_analysis.accuracy_scores import metric_values, resampled_weights

HOLDS, FAILS, UNDECIDED, EQUAL = "holds", "does not hold", "undecided", "equal"


@dataclass(frozen=True)
class Comparison:
    """One pair: better - worse in units of the metric, positive where the ordering holds."""

    ordering: Ordering
    place: str
    better: pd.Series
    worse: pd.Series
    difference: float
    low: float
    high: float

    @property
    def verdict(self):
        """By the 95 % interval of the paired difference."""
        return verdict(self.difference, self.low, self.high)


@dataclass(frozen=True)
class Finding:
    """One ordering on one task: its pairs, and the mean of their differences with its interval."""

    task: str
    ordering: Ordering
    metric: str
    comparisons: list
    mean: float
    low: float
    high: float

    @property
    def verdict(self):
        """By the 95 % interval of the mean over all pairs."""
        return verdict(self.mean, self.low, self.high)

    def count(self, wanted):
        """How many pairs have this verdict."""
        return sum(comparison.verdict == wanted for comparison in self.comparisons)


def verdict(difference, low, high):
    """HOLDS or FAILS where the interval leaves out zero, EQUAL where nothing differs."""
    if low > 0:
        return HOLDS
    if high < 0:
        return FAILS
    return EQUAL if difference == low == high == 0 else UNDECIDED


def compare(task, frame, scores, orderings=None):
    """The Finding of every ordering that has a pair among the task's points.

    frame: rows of scored_frame   scores: {id: PointScores}
    A pair counts when both points have scores of the same samples.
    """
    found, resampled = [], _Resampled(scores)
    for ordering in orderings or ORDERINGS:
        pairs = [pair for pair in ordering.pairs(frame) if _comparable(pair, scores)]
        if pairs:
            found.append(_finding(task, ordering, pairs, resampled))
    return found


def paired_change(row, single, scores):
    """(change, low, high) of a point from another; the interval is NaN without both's scores."""
    change = row.value - single.value
    if not _comparable((row, single, ""), scores):
        return change, np.nan, np.nan
    resampled = _Resampled(scores)
    return _interval(resampled(row) - resampled(single))


class _Resampled:
    """Values of points over the same resamples, each computed once."""

    def __init__(self, scores):
        self._scores = scores
        self._weights, self._values = {}, {}

    def __call__(self, row):
        if row.id not in self._values:
            scores = self._scores[row.id]
            if len(scores) not in self._weights:
                self._weights[len(scores)] = resampled_weights(len(scores))
            weights = self._weights[len(scores)]
            self._values[row.id] = metric_values(row.metric, scores, weights)
        return self._values[row.id]


def _comparable(pair, scores):
    better, worse, _ = pair
    same = ("data", "first", "last", "metric")
    return {better.id, worse.id} <= set(scores) and all(better[key] == worse[key] for key in same)


def _finding(task, ordering, pairs, resampled):
    metric = pairs[0][0].metric
    sign = 1.0 if is_rising(metric) else -1.0
    differences = [sign * (resampled(better) - resampled(worse)) for better, worse, _ in pairs]
    comparisons = [
        Comparison(ordering, place, better, worse, *_interval(difference))
        for (better, worse, place), difference in zip(pairs, differences)
    ]
    return Finding(task, ordering, metric, comparisons, *_interval(np.mean(differences, axis=0)))


def _interval(values):
    """(of the set itself, 2.5th, 97.5th percentile of the resampled ones)"""
    low, high = np.nanpercentile(values[1:], [2.5, 97.5])
    return float(values[0]), float(low), float(high)
