"""Labels and scores of rows as numbers."""

import math

import numpy as np

from thinwire_prepare.errors import InputError


def label_numbers(rows, names):
    """int32 [rows] and the names in the order of their numbers.

    names  the order that is wanted; empty: labels that are all whole numbers stay as they are,
           others are numbered in the order of their names
    """
    texts = [row.label.strip() for row in rows]
    if not names and all(text.isdecimal() for text in texts):
        numbers = [int(text) for text in texts]
        return np.asarray(numbers, np.int32), [str(n) for n in range(max(numbers) + 1)]
    names = list(names) or sorted(set(texts))
    for row, text in zip(rows, texts):
        if text not in names:
            raise InputError(f"{row.place}: label {text!r} is none of --labels {','.join(names)}")
    return np.asarray([names.index(text) for text in texts], np.int32), names


def score_numbers(rows):
    """float32 [rows]"""
    scores = np.empty(len(rows), np.float32)
    for index, row in enumerate(rows):
        try:
            scores[index] = float(row.score)
        except ValueError:
            raise InputError(f"{row.place}: score {row.score!r} is not a number") from None
        if not math.isfinite(scores[index]):
            raise InputError(f"{row.place}: score {row.score!r} is not finite")
    return scores
