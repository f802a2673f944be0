"""PRISM with all devices in one tensor program (METHODS 3.1).

Every query sees N exact columns and P L means. What a device does not have is hidden from its
queries by the bias: the exact keys of its peers, and the means of its own rows. A mean's bias is
log g, the scaling-aware softmax.
"""

import torch

from thinwire_train.models import Pass, exact_visibility
from thinwire_train.partition import owners, segments


class Prism:
    """devices (P), segments (L); scaling off: every mean counts once"""

    def __init__(self, devices, segments, scaling=True):
        self.devices, self.segments, self.scaling = devices, segments, scaling

    def begin(self, model, batch, x):
        return PrismPass(self, model, batch, x)


class PrismPass(Pass):
    def __init__(self, prism, model, batch, x):
        super().__init__(model, batch, x)
        tokens = x.shape[1]
        owner = owners(tokens, prism.devices)
        table = segments(tokens, prism.devices, prism.segments)
        self.members = torch.zeros(len(table), tokens)  # [P L, N]
        for row, (begin, size) in enumerate(table):
            self.members[row, begin : begin + size] = 1
        real = torch.ones(1, tokens) if batch.real is None else batch.real.to(torch.float32)
        self.weights = self.members * real[:, None, :]  # [n or 1, P L, N]
        self.counts = self.weights.sum(dim=-1)  # [n or 1, P L], g
        self.weights = self.weights / self.counts.clamp(min=1).unsqueeze(-1)
        self.bias = self._bias(prism, owner, table)

    def columns(self, layer, block, x):
        rows = block.kv_input(torch.cat([x, self.weights @ x], dim=1))
        return (*block.project_kv(rows), self.bias)

    def _bias(self, prism, owner, table):
        """[n or 1, 1, N, N + P L]"""
        exact = exact_visibility(self.model.config, self.tokens) & (owner[:, None] == owner)
        begins = torch.tensor([begin for begin, _ in table])
        means = owner[:, None] != owner[begins]
        if self.model.config.is_causal:
            last = torch.tensor([begin + size - 1 for begin, size in table])
            means = means & (last <= torch.arange(self.tokens)[:, None])
        visible = torch.cat([exact, means], dim=1)[None, None]
        counts = self.counts if prism.scaling else self.counts.clamp(max=1)
        of_tokens = torch.ones(1, self.tokens)
        if self.batch.real is not None:
            of_tokens = self.batch.real.to(torch.float32)
        columns = torch.cat([of_tokens, counts], dim=1).log()[:, None, None, :]
        return torch.where(visible, columns, -torch.inf)
