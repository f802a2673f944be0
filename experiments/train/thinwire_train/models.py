"""ViT, BERT and GPT-2 as plain torch modules, cut where METHODS 2 cuts them.

Everything but attention works row by row, so a model is embedding, blocks and head, and a block is
kv_input, project, attend, residual and finish. A strategy's simulation (prism.py, trace.py) joins
the same parts differently; `SingleDevice` joins them as one device does.
"""

import math
from dataclasses import dataclass
from typing import Optional

import torch
from torch import nn
from torch.nn import functional


@dataclass
class Batch:
    """Inputs of one pass: pictures, or token numbers.

    pixels [n, channels, H, W] fp32     ids, types [n, N] int64
    real [n, N] bool: which tokens are no padding; None when all are real
    """

    pixels: Optional[torch.Tensor] = None
    ids: Optional[torch.Tensor] = None
    types: Optional[torch.Tensor] = None
    real: Optional[torch.Tensor] = None


class PatchEmbedding(nn.Module):
    """Class token, then patches by row and column, plus positions."""

    def __init__(self, config):
        super().__init__()
        self.class_token = nn.Parameter(torch.zeros(1, 1, config.hidden))
        self.positions = nn.Parameter(torch.zeros(1, config.max_tokens, config.hidden))
        self.projection = nn.Conv2d(
            config.channels, config.hidden, config.patch, stride=config.patch
        )

    def forward(self, batch):
        patches = self.projection(batch.pixels).flatten(2).transpose(1, 2)
        class_token = self.class_token.expand(len(patches), -1, -1)
        return torch.cat([class_token, patches], dim=1) + self.positions


class TextEmbedding(nn.Module):
    """Words plus positions; BERT adds segments and a LayerNorm."""

    def __init__(self, config):
        super().__init__()
        self.words = nn.Embedding(config.vocabulary, config.hidden)
        self.positions = nn.Embedding(config.max_tokens, config.hidden)
        if config.family == "bert":
            self.types = nn.Embedding(config.token_types, config.hidden)
            self.norm = nn.LayerNorm(config.hidden, config.epsilon)

    def forward(self, batch):
        x = self.words(batch.ids) + self.positions.weight[: batch.ids.shape[1]]
        if not hasattr(self, "types"):
            return x
        types = torch.zeros_like(batch.ids) if batch.types is None else batch.types
        return self.norm(x + self.types(types))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        hidden = config.hidden
        self.is_pre_norm = config.is_pre_norm
        self.heads = config.heads
        self.gelu = config.gelu
        self.norm1 = nn.LayerNorm(hidden, config.epsilon)
        self.norm2 = nn.LayerNorm(hidden, config.epsilon)
        self.query = nn.Linear(hidden, hidden, config.qkv_bias)
        self.key = nn.Linear(hidden, hidden, config.qkv_bias)
        self.value = nn.Linear(hidden, hidden, config.qkv_bias)
        self.output = nn.Linear(hidden, hidden)
        self.up = nn.Linear(hidden, config.ffn)
        self.down = nn.Linear(config.ffn, hidden)

    def kv_input(self, x):
        return self.norm1(x) if self.is_pre_norm else x

    def project_kv(self, rows):
        """rows [n, tokens, hidden] -> K, V of the same shape"""
        return self.key(rows), self.value(rows)

    def attend(self, query, key, value, bias):
        """softmax(QK^T / sqrt(d) + bias) V W_O, before the residual.

        query [n, N, hidden]   key, value [n, columns, hidden]
        bias  broadcastable to [n, heads, N, columns]: log g, or -inf for what a query cannot see
        """
        mixed = functional.scaled_dot_product_attention(
            self._split(query), self._split(key), self._split(value), attn_mask=bias
        )
        return self.output(mixed.transpose(1, 2).flatten(2))

    def residual(self, output, x):
        z = x + output
        return z if self.is_pre_norm else self.norm1(z)

    def finish(self, z):
        rows = self.norm2(z) if self.is_pre_norm else z
        y = z + self.down(functional.gelu(self.up(rows), approximate=self.gelu))
        return y if self.is_pre_norm else self.norm2(y)

    def _split(self, rows):
        samples, tokens, hidden = rows.shape
        return rows.view(samples, tokens, self.heads, hidden // self.heads).transpose(1, 2)


class Head(nn.Module):
    """Logits [n, labels] or [n, N, vocabulary], or embeddings [n, hidden] (METHODS 6)."""

    def __init__(self, config):
        super().__init__()
        self.kind = config.head
        if self.kind in ("class_token", "language_model"):
            self.norm = nn.LayerNorm(config.hidden, config.epsilon)
        if self.kind == "pooler":
            self.pooler = nn.Linear(config.hidden, config.hidden)
        if self.kind in ("class_token", "pooler"):
            self.classifier = nn.Linear(config.hidden, config.labels)

    def forward(self, x, real, words):
        """x: state after the last block   words: weights of the language model [vocabulary, D]"""
        if self.kind == "class_token":
            return self.classifier(self.norm(x[:, 0]))
        if self.kind == "pooler":
            return self.classifier(torch.tanh(self.pooler(x[:, 0])))
        if self.kind == "language_model":
            return functional.linear(self.norm(x), words)
        if real is None:
            return x.mean(dim=1)
        weights = real.to(x.dtype).unsqueeze(-1)
        return (x * weights).sum(dim=1) / weights.sum(dim=1)


class Transformer(nn.Module):
    """The parts; `strategy` says how devices join them (default: one device)."""

    def __init__(self, config, has_own_words=False):
        """has_own_words: the language model's weights are not tied to the token table."""
        super().__init__()
        self.config = config
        self.embedding = TextEmbedding(config) if config.is_text else PatchEmbedding(config)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.head = Head(config)
        if has_own_words:
            self.language_model = nn.Parameter(torch.zeros(config.vocabulary, config.hidden))

    def forward(self, batch, strategy=None):
        strategy = strategy or SingleDevice()
        x = self.embedding(batch)
        state = strategy.begin(self, batch, x)
        for layer, block in enumerate(self.blocks):
            key, value, bias = state.columns(layer, block, x)
            output = block.attend(block.query(block.kv_input(x)), key, value, bias)
            z = block.residual(output, x)
            state.after_attention(layer, output, z)
            x = block.finish(z)
        return self.head(x, batch.real, self.words())

    def words(self):
        """Weights of the language model [vocabulary, hidden]; None for other heads."""
        if self.config.head != "language_model":
            return None
        if hasattr(self, "language_model"):
            return self.language_model
        return self.embedding.words.weight


class Pass:
    """One forward pass of a strategy; what is not overridden is what one device does."""

    def __init__(self, model, batch, x):
        self.model = model
        self.batch = batch
        self.tokens = x.shape[1]
        self.exact_bias = self.hide(exact_visibility(model.config, self.tokens, x.device))

    def columns(self, layer, block, x):
        """K, V [n, columns, hidden] and the bias of every query for every column."""
        return (*block.project_kv(block.kv_input(x)), self.exact_bias)

    def after_attention(self, layer, output, z):
        """output: A W_O [n, N, D]   z: with residual (METHODS 2)"""

    def hide(self, visible, real=None):
        """visible [N, columns] bool -> bias, padding columns hidden, or None when all is visible.

        real [n, columns] bool; None: the batch's own, for columns that are its tokens
        """
        real = self.batch.real if real is None else real
        if real is not None:
            visible = visible & real[:, None, None, :]
        if bool(visible.all()):
            return None
        return torch.zeros(visible.shape).masked_fill(~visible, -math.inf)


class SingleDevice:
    def begin(self, model, batch, x):
        return Pass(model, batch, x)


def exact_visibility(config, tokens, device=None):
    """[N, N] bool: an exact key is visible from its own position on, or everywhere."""
    visible = torch.ones(tokens, tokens, dtype=torch.bool, device=device)
    return visible.tril() if config.is_causal else visible


def initialise(model, generator, deviation=0.02):
    """Hugging Face's start for training from scratch: normal weights, zero biases, unit norms."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name:
                parameter.fill_(1.0 if name.endswith("weight") else 0.0)
            elif name.endswith("bias"):
                parameter.zero_()
            else:
                parameter.normal_(0.0, deviation, generator=generator)
