"""Scores of single samples: metrics of resampled sets, for paired comparisons of points.

A file that `thinwire eval --scores` wrote has one JSON line a point: its id and a list a column
(those of COLUMNS), one entry a sample.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from thinwire_analysis.errors import InputError

RESAMPLES = 1000
# What a metric is computed from.
COLUMNS = {
    "accuracy": ("predicted", "label"),
    "cloze": ("predicted", "label"),
    "spearman": ("prediction", "target"),
    "pearson": ("prediction", "target"),
    "bits_per_byte": ("loss", "bytes"),
    "bits_per_character": ("loss", "characters"),
    "perplexity": ("loss", "predictions"),
}
KNOWN = {name for names in COLUMNS.values() for name in names}


@dataclass(frozen=True)
class PointScores:
    """The samples of one point: {column: array}, all of one length; a sample has its number."""

    columns: dict

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def column(self, name):
        """An array of the column. Raises InputError when the point has none."""
        found = self.columns.get(name)
        if found is None:
            raise InputError(f"scores without {name} (they have {', '.join(self.columns)})")
        return found


def load_scores(path):
    """{id: PointScores} of a file, the last line of a point; {} where there is no such file."""
    path = Path(path)
    if not path.exists():
        return {}
    found = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            read = json.loads(line)
            columns = {name: np.asarray(read[name], float) for name in KNOWN if name in read}
            if not columns or len({len(values) for values in columns.values()}) != 1:
                raise ValueError("lists of one length, one a column, are needed")
            found[read["id"]] = PointScores(columns)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}, line {number}: no scores of a point ({error})") from error
    return found


def resampled_weights(samples, resamples=RESAMPLES, seed=0):
    """How often each sample is drawn: [1 + resamples, samples]; row 0 is the set itself."""
    drawn = np.random.default_rng(seed).multinomial(
        samples, np.full(samples, 1 / samples), resamples
    )
    return np.vstack([np.ones((1, samples)), drawn])


def metric_values(metric, scores, weights):
    """The metric of every weighted set: an array of as many values as `weights` has rows."""
    if metric not in COLUMNS:
        raise InputError(f"metric {metric!r} of single samples: known are {', '.join(COLUMNS)}")
    first, second = (scores.column(name) for name in COLUMNS[metric])
    with np.errstate(invalid="ignore", divide="ignore"):
        if metric in ("accuracy", "cloze"):
            return weights @ (first == second) / weights.sum(axis=1)
        if metric == "spearman":
            return _correlation(_ranks(first, weights), _ranks(second, weights), weights)
        if metric == "pearson":
            return _correlation(first[None, :], second[None, :], weights)
        mean_loss = (weights @ first) / (weights @ second)
        return np.exp(mean_loss) if metric == "perplexity" else mean_loss / np.log(2)


def _ranks(values, weights):
    """Average ranks in each weighted set: a sample drawn twice ties with itself."""
    _, group = np.unique(values, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(group[order]) != 0))
    count = np.add.reduceat(weights[:, order], starts, axis=1)
    rank = np.cumsum(count, axis=1) - (count - 1) / 2
    return rank[:, group]


def _correlation(x, y, weights):
    total = weights.sum(axis=1, keepdims=True)
    x = x - (weights * x).sum(axis=1, keepdims=True) / total
    y = y - (weights * y).sum(axis=1, keepdims=True) / total
    covariance = (weights * x * y).sum(axis=1)
    return covariance / np.sqrt((weights * x * x).sum(axis=1) * (weights * y * y).sum(axis=1))
