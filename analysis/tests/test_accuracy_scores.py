import json

import numpy as np
import pytest

from thinwire_analysis.accuracy_scores import (
    PointScores,
    load_scores,
    metric_values,
    resampled_weights,
)
from thinwire_analysis.errors import InputError


def scores(**columns):
    return PointScores({name: np.asarray(values, float) for name, values in columns.items()})


def test_a_weighted_set_scores_as_the_set_with_repeated_samples():
    random = np.random.default_rng(0)
    weights = resampled_weights(30, 5)
    ties = {"prediction": random.integers(0, 8, 30), "target": random.integers(0, 5, 30)}
    classes = {"predicted": random.integers(0, 3, 30), "label": random.integers(0, 3, 30)}
    losses = {"loss": random.random(30), "bytes": random.integers(1, 9, 30)}

    for metric, columns in (
        ("spearman", ties), ("pearson", ties), ("accuracy", classes), ("bits_per_byte", losses),
    ):  # fmt: skip
        found = metric_values(metric, scores(**columns), weights)

        for row, value in zip(weights.astype(int), found):
            repeated = scores(**{name: np.repeat(column, row) for name, column in columns.items()})
            alone = metric_values(metric, repeated, np.ones((1, row.sum())))
            assert value == pytest.approx(alone[0]), metric


def test_spearman_averages_the_ranks_of_ties():
    made = scores(prediction=[1, 2, 2, 3], target=[1, 2, 3, 4])

    # ranks 1, 2.5, 2.5, 4 beside 1, 2, 3, 4
    expected = np.corrcoef([1, 2.5, 2.5, 4], [1, 2, 3, 4])[0, 1]
    assert metric_values("spearman", made, np.ones((1, 4)))[0] == pytest.approx(expected)


def test_bits_per_byte_are_the_losses_over_the_bytes():
    made = scores(loss=np.log(2) * np.array([6.0, 2.0]), bytes=[3, 1])

    assert metric_values("bits_per_byte", made, np.ones((1, 2)))[0] == pytest.approx(2.0)


def test_the_first_row_of_weights_is_the_set_itself():
    weights = resampled_weights(7, 20)

    assert weights.shape == (21, 7)
    assert (weights[0] == 1).all() and (weights.sum(axis=1) == 7).all()


def test_the_last_line_of_a_point_counts(tmp_path):
    path = tmp_path / "prism.scores"
    lines = [{"id": "a", "predicted": [p], "label": [1]} for p in (0, 1)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    assert load_scores(path)["a"].column("predicted")[0] == 1
    assert load_scores(tmp_path / "none.scores") == {}


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"id": "a"}', '{"id": "a", "loss": [1], "bytes": []}', '{"loss": [1]}']
)
def test_a_line_without_scores_is_bad_input(line, tmp_path):
    path = tmp_path / "broken.scores"
    path.write_text(line + "\n")

    with pytest.raises(InputError, match="broken.scores, line 1"):
        load_scores(path)


def test_an_unknown_metric_or_column_is_named():
    with pytest.raises(InputError, match="f2"):
        metric_values("f2", scores(loss=[1]), np.ones((1, 1)))
    with pytest.raises(InputError, match="bytes"):
        metric_values("bits_per_byte", scores(loss=[1]), np.ones((1, 1)))
