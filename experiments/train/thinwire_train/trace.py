"""TRACE and ASTRA with all devices in one tensor program (METHODS 3.2, 3.3).

Every query sees N exact and N quantised columns. Of each token a device's own queries see the exact
one, its peers the quantised one; the bias hides the other. The methods differ in what is quantised
and in what a receiver makes of a codeword, which is the same for all receivers.

Training passes gradients straight through the quantisers and drops exact columns at random
(local-KV drop), so that attention learns to use what its peers' codewords say. The equation of that
drop is lost in the paper's text; here each exact column is hidden from its device's queries with
probability rho, a sample and block at a time, but never from its own token's query.
"""

import torch
from torch import nn

from thinwire_train.codebook import Codebook
from thinwire_train.models import Pass, exact_visibility
from thinwire_train.partition import owners

METHODS = ("trace-b", "trace-2a", "trace-nb", "trace-1b", "astra")


def coded_exchanges(method, layers):
    """Exchanges that carry indices; the other one, 0, carries the raw partition."""
    return range(0 if method in ("trace-b", "trace-1b", "astra") else 1, layers)


class CodebookStrategy(nn.Module):
    """A method of METHODS over P devices with a codebook an exchange.

    codebooks   {exchange: Codebook}
    buffers     "fp16": K and V of codewords are rounded as buffers store them (trace-b, scoring
                only); "exact": they are not
    local_drop  rho
    """

    def __init__(self, method, devices, codebooks, local_drop=0.0, buffers="exact"):
        super().__init__()
        self.method, self.devices = method, devices
        self.local_drop, self.buffers = local_drop, buffers
        self.codebooks = nn.ModuleDict({str(e): book for e, book in codebooks.items()})
        self.generator = None  # of the drop and of seeding
        self.fits = False  # k-means on what the next pass publishes
        self.commitment, self.pull = 0.0, 0.0  # of the last pass, summed over exchanges

    def begin(self, model, batch, x):
        self.commitment, self.pull = 0.0, 0.0
        return PASSES[self.method](self, model, batch, x)

    def codebook(self, exchange):
        return self.codebooks[str(exchange)] if str(exchange) in self.codebooks else None

    def quantise(self, exchange, rows, real):
        book = self.codebook(exchange)
        if self.fits:
            known = rows.flatten(0, 1) if real is None else rows[real]
            book.fit(known.detach(), self.generator)
        quantised, commitment, pull = book.quantise(rows, real)
        self.commitment = self.commitment + commitment
        self.pull = self.pull + pull
        return quantised

    def follow(self):
        for book in self.codebooks.values():
            book.follow(self.generator)


class CodebookPass(Pass):
    def __init__(self, strategy, model, batch, x):
        super().__init__(model, batch, x)
        self.strategy = strategy
        owner = owners(self.tokens, strategy.devices)
        self.own = owner[:, None] == owner  # [N, N]
        visible = exact_visibility(model.config, self.tokens)
        self.visible = torch.cat([visible & self.own, visible & ~self.own], dim=1)[None, None]
        self.real2 = None if batch.real is None else torch.cat([batch.real] * 2, dim=1)
        self.bias = self.hide(self.visible, self.real2)

    def columns(self, layer, block, x):
        key, value = block.project_kv(block.kv_input(x))
        peer_key, peer_value = self.peer_columns(layer, block, x, (key, value))
        keys = torch.cat([key, peer_key], dim=1)
        return keys, torch.cat([value, peer_value], dim=1), self._current_bias(len(x))

    def _current_bias(self, samples):
        strategy = self.strategy
        if not strategy.training or strategy.local_drop == 0:
            return self.bias
        draw = torch.rand(samples, 1, 1, self.tokens, generator=strategy.generator)
        kept = (draw >= strategy.local_drop) | torch.eye(self.tokens, dtype=torch.bool)
        return self.hide(
            self.visible & torch.cat([kept, torch.ones_like(kept)], dim=3), self.real2
        )


class TracePass(CodebookPass):
    """trace-b, trace-2a: Z is published; buffers turn a codeword into K and V."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.published = None  # [n, N, D]

    def after_attention(self, layer, output, z):
        self.published = z

    def peer_columns(self, layer, block, x, exact):
        strategy = self.strategy
        if strategy.codebook(layer) is None:
            return exact
        rows = x if layer == 0 else self.published
        if strategy.training or strategy.fits:
            return self._project(layer, block, strategy.quantise(layer, rows, self.batch.real))
        book = strategy.codebook(layer)
        key, value = self._project(layer, block, book.codewords)  # [1, K, D]
        if strategy.buffers == "fp16":
            key, value = key.half().float(), value.half().float()
        indices = book.nearest(rows).squeeze(-1)
        return key[0][indices], value[0][indices]

    def _project(self, layer, block, rows):
        if layer > 0:
            rows = self.model.blocks[layer - 1].finish(rows)
        return block.project_kv(block.kv_input(rows))


class TraceNbPass(CodebookPass):
    """trace-nb, trace-1b: A W_O is published; receivers keep each peer's running state."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.published = None
        self.state = None  # [n, N, D]: what peers believe

    def after_attention(self, layer, output, z):
        self.published = output

    def peer_columns(self, layer, block, x, exact):
        strategy, real = self.strategy, self.batch.real
        if layer == 0 and strategy.codebook(0) is None:
            self.state = x
            return exact
        if layer == 0:
            self.state = strategy.quantise(0, x, real)
        else:
            previous = self.model.blocks[layer - 1]
            codewords = strategy.quantise(layer, self.published, real)
            self.state = previous.finish(previous.residual(codewords, self.state))
        return block.project_kv(block.kv_input(self.state))


class AstraPass(CodebookPass):
    """The block output is published; receivers project codewords."""

    def peer_columns(self, layer, block, x, exact):
        rows = self.strategy.quantise(layer, x, self.batch.real)
        return block.project_kv(block.kv_input(rows))


PASSES = {
    "trace-b": TracePass,
    "trace-2a": TracePass,
    "trace-nb": TraceNbPass,
    "trace-1b": TraceNbPass,
    "astra": AstraPass,
}


def empty_codebooks(method, config, codewords, groups=1, update="ema"):
    """Codebooks to be fitted: zeros."""
    similarity = "squared" if method == "astra" else "cosine"
    shape = (groups, codewords, config.hidden // groups)
    return {
        exchange: Codebook(torch.zeros(shape), similarity, update)
        for exchange in coded_exchanges(method, config.layers)
    }
