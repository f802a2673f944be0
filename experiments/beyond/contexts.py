"""Which contexts make codeword indices cheap: bits a token by what is known of it.

Usage: contexts.py TRAIN.safetensors TEST.safetensors CODEWORDS
Both files are of thinwire_dump_indices, of different inputs: counts come from TRAIN, bits from TEST.
Every context's distribution is smoothed towards that of an index alone (Witten-Bell); further ones
are multiplied in as evidence, p(i | context) / p(i), to the power that TRAIN's last tenth
likes best. Ideal bits, without frames: what real frames take is thinwire_code_frames' to say.
"""

import sys

import numpy as np
from safetensors.numpy import load_file

POWERS = (0.25, 0.5, 0.75, 1.0)
JUDGED = 6000


def load(path):
    """(tokens of each frame, indices [exchange, token])"""
    tensors = load_file(path)
    tokens = tensors.pop("tokens")
    names = sorted(tensors, key=lambda name: int(name.split(".")[1]))
    return tokens, np.stack([tensors[name] for name in names])


def neighbour(indices, tokens, distance):
    """Index `distance` places before in the same frame, plus one; 0 where there is none."""
    place = np.concatenate([np.arange(count) for count in tokens])
    other = place - distance
    inside = (other >= 0) & (other < np.repeat(tokens, tokens))
    result = np.zeros_like(indices)
    result[:, inside] = indices[:, np.flatnonzero(inside) - distance] + 1
    return result


def contexts_of(indices, tokens, exchange):
    """{name: context of every token}, 0 for none"""
    found = {"neighbour": neighbour(indices, tokens, 1)[exchange]}
    found["second neighbour"] = neighbour(indices, tokens, 2)[exchange]
    if exchange > 0:
        found["previous"] = indices[exchange - 1] + 1
        found["next token's previous"] = neighbour(indices, tokens, -1)[exchange - 1]
    if exchange > 1:
        found["earlier"] = indices[exchange - 2] + 1
    return found


def conditional(context, index, codewords, alone):
    """p(index | context) [codewords + 1, codewords], and how many pairs were counted"""
    counts = np.zeros((codewords + 1, codewords), dtype=np.float32)
    np.add.at(counts, (context, index), 1)
    others = (counts > 0).sum(1, keepdims=True) + 0.5
    total = counts.sum(1, keepdims=True) + others
    return (counts + others * alone) / total, int((counts > 0).sum())


def bits(weights, index):
    own = weights[np.arange(len(index)), index]
    return float(-np.log2(own / weights.sum(1)).mean())


def study(train, test, exchange, codewords):
    """One line for each step of a greedy choice; powers and order are chosen on held-out training."""
    (train_tokens, train_indices), (test_tokens, test_indices) = train, test
    index = train_indices[exchange]
    trained = contexts_of(train_indices, train_tokens, exchange)
    tested = contexts_of(test_indices, test_tokens, exchange)
    held = len(index) * 9 // 10
    judged = slice(held, min(len(index), held + JUDGED))
    shown = slice(0, JUDGED)

    def tables(part):
        alone = np.bincount(index[part], minlength=codewords).astype(np.float32) + 0.5
        alone /= alone.sum()
        return alone, {
            name: conditional(context[part], index[part], codewords, alone)
            for name, context in trained.items()
        }

    held_alone, held_tables = tables(slice(0, held))
    alone, full_tables = tables(slice(None))
    judged_now = np.tile(held_alone, (len(index[judged]), 1))
    shown_now = np.tile(alone, (len(test_indices[exchange][shown]), 1))
    print(f"  alone: {bits(shown_now, test_indices[exchange][shown]):.2f} bits a token")
    rest, best = list(trained), bits(judged_now, index[judged])
    while rest:
        options = []
        for name in rest:
            evidence = held_tables[name][0][trained[name][judged]] / held_alone
            options += [
                (bits(judged_now * evidence**power, index[judged]), name, power) for power in POWERS
            ]
        least, name, power = min(options)
        if least > 0.98 * best:
            break
        best = least
        rest.remove(name)
        judged_now *= (held_tables[name][0][trained[name][judged]] / held_alone) ** power
        table, pairs = full_tables[name]
        shown_now *= (table[tested[name][shown]] / alone) ** power
        now = bits(shown_now, test_indices[exchange][shown])
        print(f"  and {name}^{power}: {now:.2f} bits a token, {pairs} pairs counted")


def main(train_path, test_path, codewords):
    train, test = load(train_path), load(test_path)
    for exchange in range(len(train[1])):
        print(f"exchange {exchange}")
        study(train, test, exchange, int(codewords))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
