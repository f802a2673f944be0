"""What a model is worth on a data set, under a strategy."""

import math
from dataclasses import dataclass

import numpy
import torch

from thinwire_train.data import NO_TARGET, in_batches
from thinwire_train.losses import is_right, pair_cosines, wanted_cosines, wanted_number

ROWS_AT_ONCE = 16384  # tokens of a batch: activations of some ten megabytes


@dataclass
class Score:
    metric: str  # accuracy, bits_per_byte (of models of bytes; else per token) or spearman
    value: float
    samples: int

    def __str__(self):
        shown = f"{100 * self.value:.2f} %" if self.metric == "accuracy" else f"{self.value:.4f}"
        return f"{self.metric} {shown} of {self.samples} samples"


def score(model, data, strategy=None, limit=None):
    """The first `limit` samples of `data`; strategy None is the single device."""
    count = min(limit or len(data), len(data))
    was_training = model.training, getattr(strategy, "training", False)
    _set_training(model, strategy, (False, False))
    values = []
    with torch.no_grad():
        for indices in in_batches(count, _batch_size(data)):
            batch, target = data.batch(indices)
            values.append(_judge(model, model(batch, strategy), target))
    _set_training(model, strategy, was_training)
    return _summarise(model.config, torch.cat(values), count)


def spearman(first, second):
    """Rank correlation; equal values share the mean of their ranks."""
    return float(numpy.corrcoef(_ranks(first), _ranks(second))[0, 1])


def _judge(model, output, target):
    config = model.config
    if config.head == "language_model":
        wanted = target.ids[:, 1:].flatten()
        # In double precision, as the reference scores are.
        logits = output[:, :-1].double().flatten(0, 1)
        losses = torch.nn.functional.cross_entropy(logits, wanted, reduction="none")
        return losses[wanted != NO_TARGET, None]
    if config.head == "mean_pooling":
        return torch.stack([pair_cosines(output.double()), wanted_cosines(target)], dim=1)
    if config.labels == 1:
        return torch.stack([output[:, 0], wanted_number(target)], dim=1)
    return is_right(output, target.label)[:, None]


def _summarise(config, values, count):
    if config.head == "language_model":
        return Score("bits_per_byte", float(values.mean()) / math.log(2), count)
    if values.shape[1] == 2:
        return Score("spearman", spearman(values[:, 0].numpy(), values[:, 1].numpy()), count)
    return Score("accuracy", float(values.double().mean()), count)


def _ranks(values):
    _, groups, counts = numpy.unique(values, return_inverse=True, return_counts=True)
    ends = numpy.cumsum(counts)
    return ((ends - counts + ends - 1) / 2)[groups]


def _batch_size(data):
    batch, _ = data.batch(torch.arange(1))
    tokens = 64 if batch.ids is None else batch.ids.numel()
    return max(1, ROWS_AT_ONCE // tokens)


def _set_training(model, strategy, modes):
    model.train(modes[0])
    if isinstance(strategy, torch.nn.Module):
        strategy.train(modes[1])
