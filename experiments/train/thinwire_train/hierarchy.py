"""Nested sub-codebooks of a trained codebook (TRACE, section IV; METHODS 3.3).

The same k-medoids as thinwire's own: greedy BUILD, then assignment and medoid update in turn until
nothing changes, ties to the lower code number, each level's medoids among the next finer level's.
"""

import torch

COARSE_LEVELS = (2, 4, 8, 32)
MOST_ROUNDS = 100  # among equal distances medoids could go round in circles


def default_levels(codewords):
    """Those of 2, 4, 8, 32 below K, then K."""
    return [size for size in COARSE_LEVELS if size < codewords] + [codewords]


def build_hierarchy(codewords, levels):
    """codewords [K, D], ascending sizes that end at K -> permutation [K] int32.

    Coarse medoids come first, within a level by ascending code number, so that level m is its first
    levels[m] entries. Distances are Euclidean.
    """
    exact = codewords.double()
    distances = torch.cdist(exact, exact, compute_mode="donot_use_mm_for_euclid_dist").float()
    level, permutation = torch.arange(len(codewords)), []
    for size in reversed(levels[:-1]):
        coarse = level[k_medoids(distances[level][:, level], size)]
        permutation = level[~torch.isin(level, coarse)].tolist() + permutation
        level = coarse
    return torch.tensor(level.tolist() + permutation, dtype=torch.int32)


def k_medoids(distances, count):
    """distances [n, n] -> positions [count] of the medoids, ascending."""
    medoids = _build(distances, count)
    for _ in range(MOST_ROUNDS):
        clusters = distances[:, medoids].argmin(dim=1)
        clusters[medoids] = torch.arange(count)  # also beside another medoid at distance 0
        updated = []
        for number in range(count):
            members = (clusters == number).nonzero()[:, 0]
            costs = distances[members][:, members].double().sum(dim=1)
            updated.append(int(members[costs.argmin()]))
        updated = torch.tensor(sorted(updated))
        if torch.equal(updated, medoids):
            break
        medoids = updated
    return medoids


def _build(distances, count):
    """The medoid that lowers the total distance most, `count` times."""
    nearest = torch.full((len(distances),), torch.inf)
    taken = torch.zeros(len(distances), dtype=torch.bool)
    for _ in range(count):
        costs = torch.minimum(distances, nearest).double().sum(dim=1)
        best = int(costs.masked_fill(taken, torch.inf).argmin())
        taken[best] = True
        nearest = torch.minimum(nearest, distances[best])
    return taken.nonzero()[:, 0]
