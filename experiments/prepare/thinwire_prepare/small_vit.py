"""A small Vision Transformer in NumPy, for autograd to differentiate (no PyTorch needed).

Weights are a dictionary under the names of Hugging Face's ViTForImageClassification; matrices are
[outputs, inputs]. The forms are METHODS 2: pre-LayerNorm, GELU as tanh ("gelu_new").
"""

import math
from dataclasses import dataclass

import autograd.numpy as np
import numpy

EPSILON = 1e-6
CHANNELS = 3
NORMS = ("layernorm_before", "layernorm_after")
ATTENTION = ("query", "key", "value")


@dataclass(frozen=True)
class Shape:
    side: int  # of a picture, in pixels
    patch: int
    hidden: int
    layers: int
    heads: int
    ffn: int
    labels: int

    @property
    def tokens(self):
        return (self.side // self.patch) ** 2 + 1


def block_name(layer):
    return f"vit.encoder.layer.{layer}."


def initial_weights(shape, generator):
    """Matrices keep the variance of their inputs, those before a residual halve its root."""

    def normal(*size, deviation):
        return (generator.standard_normal(size) * deviation).astype(numpy.float32)

    hidden, weights = shape.hidden, {}

    def linear(name, outputs, inputs, gain=1.0):
        weights[name + ".weight"] = normal(outputs, inputs, deviation=gain / math.sqrt(inputs))
        weights[name + ".bias"] = numpy.zeros(outputs, numpy.float32)

    def norm(name):
        weights[name + ".weight"] = numpy.ones(hidden, numpy.float32)
        weights[name + ".bias"] = numpy.zeros(hidden, numpy.float32)

    start = "vit.embeddings."
    weights[start + "cls_token"] = normal(1, 1, hidden, deviation=0.02)
    weights[start + "position_embeddings"] = normal(1, shape.tokens, hidden, deviation=0.2)
    linear(start + "patch_embeddings.projection", hidden, CHANNELS * shape.patch**2, 0.5)
    for layer in range(shape.layers):
        block = block_name(layer)
        for name in NORMS:
            norm(block + name)
        for name in ATTENTION:
            linear(f"{block}attention.attention.{name}", hidden, hidden)
        linear(block + "attention.output.dense", hidden, hidden, 0.5)
        linear(block + "intermediate.dense", shape.ffn, hidden)
        linear(block + "output.dense", hidden, shape.ffn, 0.5)
    norm("vit.layernorm")
    linear("classifier", shape.labels, hidden, 0.1)
    return weights


def cut_patches(pixels, patch):
    """[n, H, W, 3] -> [n, patches, 3 * patch * patch] in a convolution's order: channel, y, x."""
    n, height, width, channels = pixels.shape
    grid = pixels.reshape(n, height // patch, patch, width // patch, patch, channels)
    return grid.transpose(0, 1, 3, 5, 2, 4).reshape(n, -1, channels * patch * patch)


def logits(weights, patches, shape):
    """[n, labels] of patches [n, tokens - 1, inputs], fp32"""
    n, tokens, hidden = len(patches), shape.tokens, shape.hidden
    x = _embed(weights, patches, shape)
    for layer in range(shape.layers):
        block = block_name(layer)
        x = x + _attend(weights, block, _norm(weights, block + "layernorm_before", x), n, shape)
        rows = _norm(weights, block + "layernorm_after", x)
        up = _gelu(_linear(weights, block + "intermediate.dense", rows))
        x = x + _linear(weights, block + "output.dense", up)
    # A sum over a mask: the gradient of an index is slow in NumPy.
    is_class_token = numpy.zeros((1, tokens, 1), numpy.float32)
    is_class_token[0, 0] = 1
    first = np.sum(np.reshape(x, (n, tokens, hidden)) * is_class_token, axis=1)
    return _linear(weights, "classifier", _norm(weights, "vit.layernorm", first))


def _embed(weights, patches, shape):
    """Rows [n * tokens, hidden]: two dimensions, so that every product is one of BLAS."""
    n, tokens, hidden = len(patches), shape.tokens, shape.hidden
    start = "vit.embeddings."
    rows = _linear(weights, start + "patch_embeddings.projection",
                   patches.reshape(n * (tokens - 1), -1))
    first = weights[start + "cls_token"] + numpy.zeros((n, 1, 1), numpy.float32)
    x = np.concatenate([first, np.reshape(rows, (n, tokens - 1, hidden))], axis=1)
    return np.reshape(x + weights[start + "position_embeddings"], (n * tokens, hidden))


def _attend(weights, block, rows, n, shape):
    head_dim = shape.hidden // shape.heads
    query, key, value = (
        np.transpose(
            np.reshape(_linear(weights, f"{block}attention.attention.{name}", rows),
                       (n, shape.tokens, shape.heads, head_dim)),
            (0, 2, 1, 3),
        )
        for name in ATTENTION
    )
    scores = np.matmul(query * numpy.float32(head_dim**-0.5), np.swapaxes(key, -1, -2))
    shares = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    shares = shares / np.sum(shares, axis=-1, keepdims=True)
    mixed = np.transpose(np.matmul(shares, value), (0, 2, 1, 3))
    mixed = np.reshape(mixed, (n * shape.tokens, shape.hidden))
    return _linear(weights, block + "attention.output.dense", mixed)


def _linear(weights, name, rows):
    return np.matmul(rows, np.transpose(weights[name + ".weight"])) + weights[name + ".bias"]


def _norm(weights, name, rows):
    centred = rows - np.mean(rows, axis=-1, keepdims=True)
    variance = np.mean(centred * centred, axis=-1, keepdims=True)
    normal = centred * (variance + numpy.float32(EPSILON)) ** numpy.float32(-0.5)
    return normal * weights[name + ".weight"] + weights[name + ".bias"]


def _gelu(x):
    cubic = x + numpy.float32(0.044715) * x * x * x
    return numpy.float32(0.5) * x * (1 + np.tanh(numpy.float32(math.sqrt(2 / math.pi)) * cubic))
