"""Short news texts with human similarities (Lee, Pincombe and Welsh, 2005), from gensim's wheel."""

from itertools import combinations

import numpy as np

from thinwire_prepare.sentences import sentence_tensors
from thinwire_prepare.text_table import Row
from thinwire_prepare.wheels import PackagedFile, take_files

PACKAGE, FOLDER = "gensim==4.3.3", "gensim/test/test_data/"
FILES = [
    PackagedFile(PACKAGE, FOLDER + name, sha256)
    for name, sha256 in (
        ("lee.cor", "a878f9a58f6743c32985c56c2f2f75988386216b38a4023a01fd3bcf7884d93e"),
        ("similarities0-1.txt", "23762bc6b728897144dda3d324a2c032dc1e059e1009806226d64b6dd123ed79"),
        ("lee_background.cor", "5d78d6dafd953bbf65797bef09a9ffb9ec430583381be705f8fd460000f370fb"),
    )
]
TOKENS = 192  # longest sequence; texts have 51 to 126 words
LARGEST_SCORE = 5  # the file has 0 to 1
SEED = 0  # of the order of the pairs
METADATA = {
    "source": "PyPI gensim 4.3.3, gensim/test/test_data (given to gensim by M. D. Lee): "
    "M. D. Lee, B. Pincombe, M. Welsh, An empirical evaluation of models of text document "
    "similarity, CogSci 2005; texts of the Australian Broadcasting Corporation's news mail",
    "licence": "none stated for the texts and scores, gensim itself: LGPL 2.1; to evaluate with, "
    "not to pass on",
}


def load_lee(downloads, tokenizer):
    """(pairs, calibration), each tensors by name.

    pairs        all 1,225 pairs of 50 texts in a random order with a fixed seed, so that any first
                 part is a random sample; score: mean human similarity, 0 (unrelated)
                 to 5 (the same), the scale of the STS tasks
    calibration  300 other texts of the same kind, one sequence each, without scores
    """
    texts, scores, background = (c.decode("latin-1") for c in take_files(FILES, downloads))
    texts, background = texts.splitlines(), background.splitlines()
    similarity = np.loadtxt(scores.splitlines())  # [50, 50], the upper half is filled
    pairs = list(combinations(range(len(texts)), 2))
    rows = [
        _row(texts, *pairs[k], LARGEST_SCORE * similarity[pairs[k]])
        for k in np.random.default_rng(SEED).permutation(len(pairs))
    ]
    alone = [Row(f"text {i}", text.strip()) for i, text in enumerate(background) if text.strip()]
    return (
        sentence_tensors(rows, tokenizer, TOKENS)[0],
        sentence_tensors(alone, tokenizer, TOKENS)[0],
    )


def _row(texts, first, second, score):
    return Row(f"texts {first} and {second}", texts[first].strip(), texts[second].strip(),
               score=score)
