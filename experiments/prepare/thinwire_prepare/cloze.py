"""Cloze tests in the form of the Children's Book Test -> one sequence of tokens a candidate."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from thinwire_prepare.errors import InputError
from thinwire_prepare.progress import Progress

GAP = "XXXXX"


@dataclass(frozen=True)
class Cloze:
    place: str  # file and line of the question, for messages
    context: str
    question: str  # with one GAP
    candidates: tuple
    answer: str


def read_clozes(path):
    """CBT's text (numbered lines; the question's line has answer and candidates behind tabs,
    candidates divided by |; an empty line ends a story), or .jsonl with the keys context, question,
    candidates, answer. Raises InputError naming file and line."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error.reason} at byte {error.start})") from None
    clozes = _from_json_lines(path, lines) if path.suffix == ".jsonl" else _from_text(path, lines)
    if not clozes:
        raise InputError(f"{path}: no questions (lines with {GAP} and candidates are needed)")
    for cloze in clozes:
        _check(cloze, len(clozes[0].candidates))
    return clozes


def cloze_tensors(clozes, tokenizer, tokens, counts_rest=True):
    """input_ids [samples * candidates, cols], length and candidate_begin [rows], label [samples].

    tokens       longest sequence; the beginning of a longer one's context is left out
    counts_rest  a candidate's likelihood is that of itself and the rest of the question, as GPT-2's
                 paper has it; else candidate_end [rows] bounds it to the candidate
    """
    rows, ranges, progress = [], [], Progress("clozes", len(clozes))
    for done, cloze in enumerate(clozes, 1):
        for candidate in cloze.candidates:
            ids, begin, end = _encode(cloze, candidate, tokenizer)
            left_out = max(0, len(ids) - tokens)
            if begin - left_out < 1:
                raise InputError(
                    f"{cloze.place}: candidate {candidate!r} and the rest of its question do not "
                    f"fit --tokens={tokens} ({len(ids) - begin + 1} are needed)"
                )
            rows.append(ids[left_out:])
            ranges.append((begin - left_out, end - left_out))
        progress.at(done)
    return _tensors(clozes, rows, np.asarray(ranges, np.int32), counts_rest)


def _tensors(clozes, rows, ranges, counts_rest):
    input_ids = np.zeros((len(rows), max(map(len, rows))), np.int32)
    for place, ids in zip(input_ids, rows):
        place[: len(ids)] = ids
    tensors = {
        "input_ids": input_ids,
        "length": np.asarray([len(ids) for ids in rows], np.int32),
        "candidate_begin": ranges[:, 0].copy(),
        "label": np.asarray([c.candidates.index(c.answer) for c in clozes], np.int32),
    }
    if not counts_rest:
        tensors["candidate_end"] = ranges[:, 1].copy()
    return tensors


def _encode(cloze, candidate, tokenizer):
    """Ids, and the candidate's first token and the one behind its last."""
    before, after = cloze.question.split(GAP)
    left = f"{cloze.context} {before}".strip()
    text = f"{left} {candidate}"
    encoding = tokenizer.encode(text + after, add_special_tokens=False)
    # A token may hold the space before a word, so the candidate begins where the left text ends.
    begin = next(i for i, (_, stop) in enumerate(encoding.offsets) if stop > len(left))
    behind = (i for i, (start, _) in enumerate(encoding.offsets) if start >= len(text))
    return encoding.ids, begin, next(behind, len(encoding.ids))


def _from_text(path, lines):
    clozes, context = [], []
    for number, line in enumerate(lines, 1):
        text = line.strip().partition(" ")[2]  # without its number in the story
        if not line.strip():
            context = []
        elif "\t" not in line:
            context.append(text)
        else:
            fields = [field.strip() for field in text.split("\t") if field.strip()]
            if len(fields) != 3:
                raise InputError(f"{path}, line {number}: question, answer and candidates behind "
                                 f"tabs are needed, not {len(fields)} fields")
            question, answer, candidates = fields
            place = f"{path}, line {number}"
            clozes.append(
                Cloze(place, " ".join(context), question, tuple(candidates.split("|")), answer)
            )
            context = []
    return clozes


def _from_json_lines(path, lines):
    clozes = []
    for number, line in enumerate(lines, 1):
        place = f"{path}, line {number}"
        try:
            record = json.loads(line)
            values = [record[key] for key in ("context", "question", "answer")]
            candidates = tuple(map(str, record["candidates"]))
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise InputError(f"{place}: {error} (an object with context, question, candidates and "
                             "answer is needed)") from None
        context, question, answer = map(str, values)
        clozes.append(Cloze(place, context, question, candidates, answer))
    return clozes


def _check(cloze, candidates):
    if cloze.question.count(GAP) != 1:
        raise InputError(f"{cloze.place}: the question needs one {GAP}")
    if len(cloze.candidates) != candidates or candidates < 2:
        raise InputError(
            f"{cloze.place}: {len(cloze.candidates)} candidates (every question needs the same "
            f"number, at least two; the first has {candidates})"
        )
    if cloze.answer not in cloze.candidates:
        raise InputError(f"{cloze.place}: the answer {cloze.answer!r} is no candidate")
