"""Trains small_vit on pictures: AdamW, cosine rate, label smoothing, shifted copies."""

import math
from dataclasses import dataclass

import autograd.numpy as np
import numpy
from autograd import value_and_grad

from thinwire_prepare.progress import Progress
from thinwire_prepare.small_vit import cut_patches, initial_weights, logits

MOMENTUM, SQUARES = 0.9, 0.99  # AdamW's two averages
WARMUP_STEPS = 50
SMOOTHING = 0.05


@dataclass(frozen=True)
class Options:
    epochs: int
    batch: int = 32
    rate: float = 3e-3
    weight_decay: float = 0.05  # of matrices
    shift: int = 1  # pictures move sideways by up to this many pixels
    seed: int = 0


def normalise(images, mean, deviation):
    """uint8 [n, H, W, 3] -> fp32, as thinwire does: (value / 255 - mean) / deviation"""
    return (images.astype(numpy.float32) / numpy.float32(255) - numpy.float32(mean)) / (
        numpy.float32(deviation)
    )


def train(pixels, labels, shape, options):
    """pixels fp32 [n, side, side, 3], labels int [n] -> weights by name. Equal options on one
    machine give equal weights."""
    generator = numpy.random.default_rng(options.seed)
    weights = initial_weights(shape, generator)
    optimizer = AdamW(weights, options)
    wanted = numpy.full((len(labels), shape.labels), SMOOTHING / shape.labels, numpy.float32)
    wanted[numpy.arange(len(labels)), labels] += 1 - SMOOTHING

    def loss(weights, patches, targets):
        scores = logits(weights, patches, shape)
        scores = scores - np.max(scores, axis=-1, keepdims=True)
        log_sum = np.log(np.sum(np.exp(scores), axis=-1, keepdims=True))
        return -np.mean(np.sum((scores - log_sum) * targets, axis=-1))

    differentiate = value_and_grad(loss)
    steps = options.epochs * (len(labels) // options.batch)
    progress = Progress("training steps", steps)
    order = numpy.empty(0, int)
    for step in range(steps):
        if len(order) < options.batch:
            order = generator.permutation(len(labels))
        chosen, order = order[: options.batch], order[options.batch :]
        moved = shifted(pixels[chosen], options.shift, generator)
        value, gradients = differentiate(weights, cut_patches(moved, shape.patch), wanted[chosen])
        optimizer.step(weights, gradients, rate_at(step, steps))
        progress.at(step + 1, f"loss {value:.3f}")
    return weights


def shifted(pixels, most, generator):
    """Each picture moved sideways by -most .. most pixels; its edge fills what becomes free."""
    width = pixels.shape[2]
    columns = numpy.arange(width)
    moves = generator.integers(-most, most + 1, len(pixels))
    source = numpy.clip(columns - moves[:, None], 0, width - 1)
    return numpy.take_along_axis(pixels, source[:, None, :, None], axis=2)


def rate_at(step, steps):
    """Share of the learning rate: linear up, then a cosine down to 0."""
    return min(1, (step + 1) / WARMUP_STEPS) * 0.5 * (1 + math.cos(math.pi * step / steps))


class AdamW:
    def __init__(self, weights, options):
        self.options = options
        self.means = {name: numpy.zeros_like(value) for name, value in weights.items()}
        self.squares = {name: numpy.zeros_like(value) for name, value in weights.items()}
        self.steps = 0

    def step(self, weights, gradients, share):
        """Replaces every value of `weights`."""
        self.steps += 1
        rate = self.options.rate * share
        for name, gradient in gradients.items():
            mean, square = self.means[name], self.squares[name]
            mean += (1 - MOMENTUM) * (gradient - mean)
            square += (1 - SQUARES) * (gradient * gradient - square)
            move = mean / (1 - MOMENTUM**self.steps)
            move = move / (numpy.sqrt(square / (1 - SQUARES**self.steps)) + 1e-8)
            if weights[name].ndim == 2:
                move = move + self.options.weight_decay * weights[name]
            weights[name] = (weights[name] - rate * move).astype(numpy.float32)


def accuracy(weights, pixels, labels, shape, batch=128):
    """Share of pictures whose largest logit is the right one."""
    right = 0
    for start in range(0, len(labels), batch):
        part = slice(start, start + batch)
        answers = logits(weights, cut_patches(pixels[part], shape.patch), shape).argmax(axis=-1)
        right += int((answers == labels[part]).sum())
    return right / len(labels)
