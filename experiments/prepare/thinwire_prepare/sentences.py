"""Sentences and pairs of them, labelled or scored -> input_ids, length and answers."""

from thinwire_prepare.answers import label_numbers, score_numbers
from thinwire_prepare.errors import InputError
from thinwire_prepare.progress import Progress
from thinwire_prepare.sequences import to_tensors

AT_ONCE = 1024  # sentences a call of the tokenizer


def encode_rows(rows, tokenizer, tokens, in_one=False):
    """Encodings, with the special tokens of the model: one a row, or of a pair two, one after the
    other, unless they share a sequence (in_one, as BERT's pair classifiers want them).

    tokens  the longest sequence; longer ones are cut (of pairs in one, the longer sentence first)
    Returns the encodings and how many sequences were cut.
    """
    texts = []
    for row in rows:
        if row.second is None:
            texts.append(row.first)
        elif in_one:
            texts.append((row.first, row.second))
        else:
            texts += [row.first, row.second]
    if tokens is not None:
        tokenizer.enable_truncation(tokens)
    encodings, progress = [], Progress("sequences", len(texts))
    for start in range(0, len(texts), AT_ONCE):
        encodings += tokenizer.encode_batch(texts[start : start + AT_ONCE])
        progress.at(len(encodings))
    tokenizer.no_truncation()
    for index, encoding in enumerate(encodings):
        if not encoding.ids:
            place = rows[index * len(rows) // len(encodings)].place
            raise InputError(f"{place}: an empty sequence")
    return encodings, sum(bool(encoding.overflowing) for encoding in encodings)


def sentence_tensors(rows, tokenizer, tokens=None, in_one=False, is_padded=False, labels=()):
    """Tensors by name, metadata by name, and the number of cut sequences."""
    is_pair = rows[0].second is not None
    if is_pair and not in_one and rows[0].label is None and rows[0].score is None:
        raise InputError("--second needs --label or --score, which tell that rows belong together")
    encodings, cut = encode_rows(rows, tokenizer, tokens, in_one)
    pad = tokenizer.token_to_id("[PAD]")
    tensors = to_tensors(
        encodings, tokens if is_padded else None, is_padded, is_pair and in_one, pad or 0
    )
    texts = {"rows": _row_meaning(is_pair, in_one)}
    if rows[0].label is not None:
        tensors["label"], names = label_numbers(rows, labels)
        texts["classes"] = ",".join(name.replace(",", " ") for name in names)
    if rows[0].score is not None:
        tensors["score"] = score_numbers(rows)
    return tensors, texts, cut


def _row_meaning(is_pair, in_one):
    if not is_pair:
        return "one sentence each"
    return "a pair each, in one sequence" if in_one else "2i and 2i+1 are the sentences of pair i"
