"""experiments/prepare/text.py: sentences, running text, bytes and cloze tests."""

import json

import numpy as np
import pytest
from places import MODELS

pytest.importorskip("safetensors", reason="the package safetensors is missing")

GLUE_STSB = (
    "index\tgenre\tsentence1\tsentence2\tscore\n"
    '0\tnews\ta "cat" sleeps\ta dog sleeps far\t3.5\n'
    "1\tnews\tdog runs\ta cat\t0\n"
)
GLUE_RTE = "index\tsentence1\tsentence2\tlabel\n0\ta cat runs\tcat runs\tentailment\n" + (
    "1\ta dog\tdog sleeps far\tnot_entailment\n"
)


@pytest.fixture
def sentences(script, words_tokenizer):
    def prepare(name, content, *options):
        (script.folder / name).write_text(content, encoding="utf-8")
        command = ("text.py", "sentences", name, "--tokenizer", words_tokenizer)
        return script.tensors(*command, *options)

    return prepare


def test_a_pair_becomes_two_rows_with_one_score(script, sentences):
    data = sentences("dev.tsv", GLUE_STSB, "--glue", "stsb")

    assert data["score"].tolist() == [3.5, 0.0]
    assert data["length"].tolist() == [7, 6, 4, 4]  # quotes are tokens of their own
    assert data["input_ids"][2].tolist() == [2, 6, 7, 3, 0, 0, 0]
    assert "2i and 2i+1" in script.metadata()["rows"]


def test_pair_in_one_has_segments_and_labels_in_the_order_of_glue(script, sentences):
    data = sentences("dev.tsv", GLUE_RTE, "--glue", "rte", "--pair-in-one")

    assert data["input_ids"][0].tolist() == [2, 4, 5, 7, 3, 5, 7, 3]
    assert data["token_type_ids"][0].tolist() == [0, 0, 0, 0, 0, 1, 1, 1]
    assert data["label"].tolist() == [0, 1]
    assert script.metadata()["classes"] == "entailment,not_entailment"
    record = script.run_thinwire(
        "--model", MODELS / "bert-tiny", "--input", "data.safetensors", "--sample", 1
    )
    assert record["spec"]["tokens"] == 8
    assert record["answer"]["label"] == 1


def test_padded_rows_have_one_length_and_a_mask(script, sentences):
    data = sentences("a.txt", "a cat runs\n\ndog\n", "--padded", "--tokens", 8)

    assert data["attention_mask"].tolist() == [[1, 1, 1, 1, 1, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0, 0]]
    assert "length" not in data
    record = script.run_thinwire(
        "--model", MODELS / "bert-tiny", "--input", "data.safetensors", "--sample", 1
    )
    assert record["spec"]["tokens"] == 8


def test_long_sentences_are_cut(script, sentences):
    data = sentences("a.txt", "a cat runs far\ndog\n", "--tokens", 4)

    assert data["input_ids"].tolist() == [[2, 4, 5, 3], [2, 6, 3, 0]]


def test_json_lines_tables_without_header_and_named_labels(sentences):
    lines = [{"text": "a cat", "kind": "good"}, {"text": "a dog", "kind": "bad"}]
    content = "\n".join(map(json.dumps, lines))
    from_json = sentences("a.jsonl", content, "--first", "text", "--label", "kind")
    ordered = sentences(
        "a.jsonl", content, "--first", "text", "--label", "kind", "--labels", "good,bad"
    )
    from_table = sentences("a.tsv", "src\t1\t\ta cat\nsrc\t0\t*\ta dog\n", "--glue", "cola")
    quoted = sentences("a.csv", 'kind,text\n1,"a cat, far"\n', "--first", "text", "--label", "kind")

    assert from_json["label"].tolist() == [1, 0]
    assert ordered["label"].tolist() == [0, 1]
    assert from_table["label"].tolist() == [1, 0]
    assert quoted["length"].tolist() == [6]


@pytest.mark.parametrize(
    ("name", "content", "options", "said"),
    [
        ("a.tsv", "x\ty\n1\n", ["--first", "y"], ["a.tsv, line 2", "column 2"]),
        ("a.tsv", "x\ty\n1\t2\n", ["--first", "z"], ["--first=z", "x, y"]),
        ("a.tsv", "x\ty\na\tb\n", ["--first", "x", "--second", "y"], ["--second", "--score"]),
        ("a.tsv", "x\ty\na\tb\n", ["--first", "x", "--score", "y"], ["line 2", "'b'", "number"]),
        ("a.tsv", "x\ty\na\tb\n", ["--label", "y", "--labels", "c"], ["line 2", "--labels c"]),
        ("a.jsonl", "{}\n", ["--first", "text"], ["--first=text", "line 1"]),
        ("a.jsonl", "{\n", ["--first", "text"], ["line 1", "not JSON"]),
        ("a.txt", "\n", [], ["a.txt", "no rows"]),
        ("a.pdf", "x", [], ["a.pdf", ".jsonl"]),
        ("a.tsv", "x\ty\n1\t2\n", ["--glue", "rte", "--first", "x"], ["--first", "--glue=rte"]),
    ],
)
def test_refuses_sentences_with_one_line(script, words_tokenizer, name, content, options, said):
    (script.folder / name).write_text(content)

    message = script.refusal("text.py", "sentences", name, "--tokenizer", words_tokenizer, *options)

    for word in said:
        assert word in message


def test_refuses_a_tokenizer_that_is_none(script):
    (script.folder / "a.txt").write_text("a\n")
    (script.folder / "tokenizer.json").write_text("{}")
    for place, said in (("gone", "is not a file"), ("tokenizer.json", "cannot be read")):
        message = script.refusal("text.py", "sentences", "a.txt", "--tokenizer", place)
        assert said in message
        assert f"--tokenizer={place}" in message


def test_windows_count_the_text_that_is_predicted(script, bytes_tokenizer):
    text = "abcdefg\u00e9\u4e2d\U0001f600xyz"  # 7 + 2 + 3 + 4 + 3 bytes
    (script.folder / "book.txt").write_text(text, encoding="utf-8")

    data = script.tensors(
        "text.py", "language-model", "book.txt", "--tokenizer", bytes_tokenizer, "--window", 6
    )

    assert data["input_ids"].shape == (3, 6)
    assert data["length"].tolist() == [6, 6, 6]
    # Not predicted: a, g and the first byte of the third window; z fills no window. A character
    # and all its bytes count where its last byte is.
    assert data["bytes"].tolist() == [5, 2 + 3, 4 + 2]
    assert data["characters"].tolist() == [5, 2, 3]


def test_a_begin_token_lets_all_text_be_predicted(script, bytes_tokenizer):
    (script.folder / "book.txt").write_text("one two three four five six")

    data = script.tensors("text.py", "language-model", "book.txt", "--tokenizer", bytes_tokenizer,
                          "--window", 10, "--begin-token", "<|endoftext|>")

    assert data["input_ids"][:, 0].tolist() == [0, 0, 0]
    assert data["bytes"].tolist() == [9, 9, 9]
    record = script.run_thinwire(
        "--model", MODELS / "gpt2-tiny", "--input", "data.safetensors", "--sample", 2
    )
    assert record["spec"]["tokens"] == 10


def test_pieces_of_a_long_text_have_the_tokens_of_the_whole(bytes_tokenizer, monkeypatch):
    from thinwire_prepare import language_model
    from thinwire_prepare.tokenizer import load_tokenizer

    tokenizer = load_tokenizer(bytes_tokenizer)
    text = "a b\n\nc d \ne\nf g\nh i j\n" * 5
    whole = language_model.cut_windows(text, tokenizer, 7)
    monkeypatch.setattr(language_model, "PIECE", 3)
    pieces = language_model.cut_windows(text, tokenizer, 7)

    for name, values in whole.items():
        assert np.array_equal(values, pieces[name]), name


def test_bytes_are_cut_in_two(script):
    (script.folder / "book.txt").write_bytes(bytes(range(100)))
    assert "--valid=2.0" in script.refusal("text.py", "bytes", "book.txt", "--valid", "2")

    data = script.tensors("text.py", "bytes", "book.txt", "--valid", "0.2")
    alone = script.tensors("text.py", "bytes", "book.txt", "--valid", "1")

    assert data["train"].tolist() == list(range(80))
    assert data["valid"].tolist() == list(range(80, 100))
    assert list(alone) == ["valid"]


CBT = (
    "1 a cat ran .\n2 it hid .\n"
    "3 then the XXXXX slept .\tcat\t\tdog|cat|hat\n\n"
    "1 b .\n2 XXXXX sat .\tmat\t\tmat|rat|fig\n"
)


def test_a_cloze_has_a_sequence_for_each_candidate(script, bytes_tokenizer):
    (script.folder / "cbt.txt").write_text(CBT)

    command = ("text.py", "cloze", "cbt.txt", "--tokenizer", bytes_tokenizer, "--tokens")
    data = script.tensors(*command, 64, "--only-candidate")

    left = "a cat ran . it hid . then the"
    assert data["label"].tolist() == [1, 0]
    assert data["candidate_begin"].tolist() == [len(left)] * 3 + [3] * 3
    assert data["candidate_end"].tolist() == [len(left) + 4] * 3 + [7] * 3  # " cat" is 4 bytes
    assert data["length"].tolist() == [len(left + " cat slept .")] * 3 + [len("b . mat sat .")] * 3
    rest = script.tensors(*command, 20)
    assert "candidate_end" not in rest
    assert rest["candidate_begin"].tolist() == [20 - len(" cat slept .")] * 3 + [3] * 3
    assert rest["length"].tolist() == [20] * 3 + [13] * 3


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("1 a b\n", ["no questions"]),
        ("1 the XXXXX .\tcat\t\tdog|rat\n", ["line 1", "'cat'", "no candidate"]),
        ("1 the gap .\tcat\t\tdog|cat\n", ["line 1", "one XXXXX"]),
        ("1 XXXXX\tcat\n", ["line 1", "2 fields"]),
        ("1 XXXXX a\tcat\t\tdog|cat\n2 XXXXX\tcat\t\tcat|a|b\n", ["line 2", "3 candidates"]),
        ("1 a XXXXX is far away .\tcat\t\tdog|cat\n", ["--tokens=8", "do not fit"]),
    ],
)
def test_refuses_clozes_with_one_line(script, bytes_tokenizer, content, said):
    (script.folder / "cbt.txt").write_text(content)

    message = script.refusal(
        "text.py", "cloze", "cbt.txt", "--tokenizer", bytes_tokenizer, "--tokens", 8
    )

    for word in said:
        assert word in message
