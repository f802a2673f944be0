"""Running text -> windows of token ids, with what each window's predictions stand for."""

import re

import numpy as np

from thinwire_prepare.errors import InputError
from thinwire_prepare.progress import Progress

PIECE = 1 << 16  # characters a call of the tokenizer, at least
# Between words that no tokenizer joins: the pieces have the tokens of the whole.
LINE_END = re.compile(r"(?<=\S)\n(?=\S)")


def cut_windows(text, tokenizer, window, begin_token=None):
    """Tensors by name: input_ids [n, window], length [n], bytes [n], characters [n].

    Windows follow each other without overlap; what does not fill one is left out. Token 0 of a
    window is not predicted, so bytes and characters count the text of tokens 1 .. window - 1 only,
    as UTF-8 and as Unicode code points. A begin_token is put before each window, whose tokens are
    then all predicted.
    Bits per byte is the sum of -log2 p over all windows, divided by the sum of `bytes`.
    """
    own = window - (begin_token is not None)
    ids, done = _tokens_of(text, tokenizer)
    windows = len(ids) // own
    if windows == 0:
        raise InputError(f"the text has {len(ids)} tokens, --window={window} needs {own}")
    input_ids = ids[: windows * own].reshape(windows, own)
    # Text that is complete before the first predicted token, and after the last one.
    first = done[: windows * own : own] if begin_token is None else done[: windows * own : own] * 0
    last = done[own - 1 : windows * own : own]
    if begin_token is not None:
        first[1:] = last[:-1]
        begin = np.full((windows, 1), _id_of(begin_token, tokenizer), np.int32)
        input_ids = np.concatenate([begin, input_ids], axis=1)
    utf8 = _utf8_lengths(text)
    return {
        "input_ids": np.ascontiguousarray(input_ids),
        "length": np.full(windows, window, np.int32),
        "bytes": (utf8[last] - utf8[first]).astype(np.int32),
        "characters": (last - first).astype(np.int32),
    }


def _tokens_of(text, tokenizer):
    """Ids int32 [tokens], and how many characters of `text` are complete with each token [tokens].

    A character that is spread over several tokens is complete with the last of them.
    """
    ids, ends, starts = [], [], []
    progress = Progress("characters", len(text))
    begin = 0
    while begin < len(text):
        line_end = LINE_END.search(text, begin + PIECE)
        end = line_end.end() if line_end else len(text)
        encoding = tokenizer.encode(text[begin:end], add_special_tokens=False)
        ids += encoding.ids
        starts += [begin + start for start, _ in encoding.offsets]
        ends += [begin + stop for _, stop in encoding.offsets]
        begin = end
        progress.at(begin)
    next_start = np.append(np.asarray(starts[1:], np.int64), len(text))
    done = np.minimum(np.asarray(ends, np.int64), next_start)
    return np.asarray(ids, np.int32), np.maximum.accumulate(done)


def _utf8_lengths(text):
    """[len(text) + 1]: bytes of the first i characters as UTF-8."""
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    each = 1 + (points > 0x7F).astype(np.int64) + (points > 0x7FF) + (points > 0xFFFF)
    return np.concatenate([[0], np.cumsum(each)])


def _id_of(token, tokenizer):
    number = tokenizer.token_to_id(token)
    if number is None:
        raise InputError(f"--begin-token={token}: the tokenizer has no such token")
    return number
