"""A codebook that is searched, and trained beside a backbone (METHODS 3.2, 3.4)."""

import torch
from torch import nn

DECAY = 0.99  # alpha of the moving averages
LEAST_USAGE = 1.0  # a codeword that is used less is seeded anew
LLOYD_ITERATIONS = 10


class Codebook(nn.Module):
    """Codewords [G, K, D / G]: G groups of columns, each with a codebook of its own.

    similarity  "cosine" (TRACE) or "squared" (ASTRA)
    update      "ema": codewords follow moving averages; "gradient": an optimizer moves them;
                "none": they stay
    """

    def __init__(self, codewords, similarity="cosine", update="ema"):
        super().__init__()
        self.similarity, self.update_kind = similarity, update
        if update == "gradient":
            self.codewords = nn.Parameter(codewords.clone())
        else:
            self.register_buffer("codewords", codewords.clone())
        self.register_buffer("usage", torch.zeros(codewords.shape[:2]))
        self.register_buffer("sums", torch.zeros_like(codewords))
        self._seen = None

    @property
    def groups(self):
        return self.codewords.shape[0]

    def nearest(self, rows):
        """rows [..., D] -> indices [..., G]; ties to the lowest index, a zero row gets 0."""
        with torch.no_grad():
            parts = self._split(rows)
            if self.similarity == "cosine":
                norms = self.codewords.norm(dim=-1, keepdim=True)
                unit = torch.where(norms > 0, self.codewords / norms, 0.0)
                scores = torch.einsum("...gw,gkw->...gk", parts, unit)
            else:
                scores = torch.einsum("...gw,gkw->...gk", parts, self.codewords)
                scores = scores - 0.5 * self.codewords.square().sum(dim=-1)
            return scores.argmax(dim=-1)

    def lookup(self, indices):
        """indices [..., G] -> rows [..., D]"""
        groups = torch.arange(self.groups)
        return self.codewords[groups, indices].flatten(-2)

    def quantise(self, rows, real=None):
        """rows [n, N, D] -> (rows that pass gradients straight through, loss of this codebook).

        real [n, N] bool: rows that count in statistics and loss; None: all
        The loss is |z - sg(c)|^2 for the commitment; a second one |sg(z) - c|^2 for codewords that
        follow gradients; both mean over elements.
        """
        indices = self.nearest(rows)
        chosen = self.lookup(indices)
        known = rows if real is None else rows[real]
        picked = chosen if real is None else chosen[real]
        commitment = (known - picked.detach()).square().mean()
        pull = (known.detach() - picked).square().mean() if self.update_kind == "gradient" else 0.0
        if self.training and self.update_kind != "none":
            self._remember(known.detach(), indices if real is None else indices[real])
        return rows + (chosen - rows).detach(), commitment, pull

    @torch.no_grad()
    def follow(self, generator):
        """After a step: moving averages take in the last batch, unused codewords are seeded."""
        if self._seen is None:
            return
        counts, sums, rows = self._seen
        self._seen = None
        if not bool(self.usage.any()):
            # Averages that start at what the codewords are now, as if seen in this batch.
            self.usage.copy_(counts.clamp(min=LEAST_USAGE / DECAY))
            self.sums.copy_(self.codewords * self.usage.unsqueeze(-1))
        self.usage.mul_(DECAY).add_(counts, alpha=1 - DECAY)
        self.sums.mul_(DECAY).add_(sums, alpha=1 - DECAY)
        if self.update_kind == "ema":
            self.codewords.copy_(self.sums / self.usage.unsqueeze(-1))
        self._seed_unused(rows, generator)

    @torch.no_grad()
    def fit(self, rows, generator):
        """k-means on rows [m, D]: k-means++ seeding, then Lloyd's iterations, a group at a time."""
        for group, part in enumerate(self._split(rows).unbind(dim=1)):
            centres = plus_plus(part, self.codewords.shape[1], generator)
            for _ in range(LLOYD_ITERATIONS):
                codes = torch.cdist(part, centres).argmin(dim=1)
                counts = torch.bincount(codes, minlength=len(centres)).to(part.dtype)
                sums = torch.zeros_like(centres).index_add_(0, codes, part)
                used = counts > 0
                centres[used] = sums[used] / counts[used, None]
            self.codewords[group].copy_(centres)

    def _remember(self, rows, indices):
        flat = self._split(rows).flatten(0, -3)  # [m, G, D / G]
        codes = indices.reshape(-1, self.groups)
        counts, sums = torch.zeros_like(self.usage), torch.zeros_like(self.sums)
        for group in range(self.groups):
            counts[group] = torch.bincount(codes[:, group], minlength=counts.shape[1])
            sums[group].index_add_(0, codes[:, group], flat[:, group])
        self._seen = counts, sums, flat

    def _seed_unused(self, rows, generator):
        for group, code in (self.usage < LEAST_USAGE).nonzero().tolist():
            row = rows[int(torch.randint(len(rows), (1,), generator=generator)), group]
            self.codewords[group, code] = row
            self.sums[group, code] = row
            self.usage[group, code] = LEAST_USAGE

    def _split(self, rows):
        return rows.unflatten(-1, (self.groups, -1))


def plus_plus(rows, count, generator):
    """k-means++: each next centre is a row drawn with the squared distance to the nearest one."""
    centres = [rows[int(torch.randint(len(rows), (1,), generator=generator))]]
    distances = (rows - centres[0]).square().sum(dim=1)
    while len(centres) < count:
        weights = distances if float(distances.sum()) > 0 else torch.ones_like(distances)
        centres.append(rows[int(torch.multinomial(weights, 1, generator=generator))])
        distances = torch.minimum(distances, (rows - centres[-1]).square().sum(dim=1))
    return torch.stack(centres)
