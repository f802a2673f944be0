"""Bits of coded indices beside fixed ones, from small records of `thinwire eval`."""

import json

import pytest

from beyond_synthetic import evaluated, scores_of
from thinwire_analysis.accuracy_study import load_task
from thinwire_analysis.beyond import PARTS
from thinwire_analysis.beyond_coding import (
    check_coding,
    coding_frame,
    coding_ratios,
    coding_table,
    measured_ratios,
)
from thinwire_analysis.beyond_coding_chapter import coding_chapter
from thinwire_analysis.errors import InputError
from thinwire_analysis.figures import Sheet

FIXED = 9.25  # bits a token


def coded(coding, bits, strategy="trace-b", devices=2, codewords=512, **more):
    """A record whose frames take `bits` of a token at the second and third of three exchanges."""
    made = evaluated(strategy, devices, **{"active-codewords": codewords, **more})
    made["id"] += f"-{coding}-{codewords}"
    if coding != "fixed":
        made["spec"]["index-coding"] = coding
        made["accuracy"]["index_coding"] = {
            "coding": coding, "mean_bits": 100 * bits, "most_bits": 200 * bits,
            "fixed_mean_bits": 100 * FIXED, "ratio": bits / FIXED,
            "bits_per_token": [None, bits - 1, bits + 1],
            "fixed_bits_per_token": [None, FIXED, FIXED],
        }  # fmt: skip
        made["traffic"]["index_coding"] = {"worst_case_bits": 1010, "fixed_bits": 1000}
    return made


def codings(cross_layer=4.625, **more):
    bits = {"fixed": FIXED, "entropy": 8.5, "cross-layer": cross_layer}
    return [coded(coding, value, **more) for coding, value in bits.items()]


@pytest.fixture
def load(tmp_path):
    """Writes records and their predictions as a task's part; returns the task."""

    def make(records, predictions=None, name="cifar10"):
        folder = tmp_path / name
        folder.mkdir()
        predictions = predictions or [None] * len(records)
        (folder / "coding.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
        lines = [scores_of(r, predicted) for r, predicted in zip(records, predictions)]
        (folder / "coding.scores").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return load_task(folder, None, PARTS)

    return make


def test_a_row_a_point_with_its_codings_side_by_side(load):
    table = coding_table(coding_ratios(coding_frame([load(codings() + codings(devices=4))])))

    assert table["P"].tolist() == [2, 4]
    assert table.iloc[0].to_dict() == {
        "task": "cifar10", "model": "vit-cifar10", "K": 512, "strategy": "trace-b", "P": 2,
        "tokens": "64", "fixed": "9.250", "entropy": "8.500", "cross-layer": "4.625",
        "entropy / fixed": "0.919", "cross-layer / fixed": "0.500", "at most": "0.65",
        "at worst": "1.010", "same predictions": "yes",
    }  # fmt: skip
    assert table["at most"][1] == "–"


def test_accepts_equal_predictions_and_few_bits(load):
    checks = check_coding([load(codings())])

    assert [check.passed for check in checks] == [True, True]
    assert "2 of 2 points" in checks[0].detail
    assert "0.500 (4.625 of 9.250 bits a token" in checks[1].detail


def test_one_other_prediction_fails(load):
    checks = check_coding([load(codings(), [None, None, [0, 1, 2, 9]])])

    assert not checks[0].passed
    assert "1 of 2 points" in checks[0].detail


def test_more_bits_than_promised_fail(load):
    checks = check_coding([load(codings(cross_layer=7.0))])

    assert [check.passed for check in checks] == [True, False]


def test_without_scores_nothing_is_known_and_the_check_fails(load, tmp_path):
    load(codings())
    (tmp_path / "cifar10" / "coding.scores").unlink()
    task = load_task(tmp_path / "cifar10", None, PARTS)

    assert not check_coding([task])[0].passed
    assert coding_table(coding_ratios(coding_frame([task])))["same predictions"][0] == "–"


def test_records_without_coding_fill_nothing(load):
    task = load(codings()[:1])

    assert coding_ratios(coding_frame([task])).empty
    assert check_coding([task]) == []
    assert measured_ratios([task]) == {}
    assert coding_chapter([task], "nowhere") is None
    assert coding_chapter([], "nowhere") is None


def test_the_largest_codebook_on_two_devices_stands_for_its_family(load):
    small = codings(cross_layer=3.0, codewords=512, model="minilm-l6")
    large = codings(cross_layer=3.7, codewords=1024, model="minilm-l6")
    four = codings(cross_layer=9.0, codewords=1024, model="minilm-l6", devices=4)

    found = measured_ratios([load(large + small + four, name="sts")])

    assert found == {("bert", "trace-b"): (pytest.approx(0.4), "cross-layer")}


def test_words_figures_and_what_the_tables_take(load, tmp_path):
    task = load(codings() + codings(devices=4, cross_layer=5.55) + codings(strategy="astra"))
    books = tmp_path / "cifar10" / "codebooks"
    books.mkdir()
    (books / "trace-b-p2-k512.info").write_text(json.dumps({
        "codewords": 512,
        "storage": {
            "codebooks_bytes": 400000, "buffers_bytes": 900000, "index_tables_bytes": 100000},
        "index_bits": [
            {"exchange": 0, "codewords": 2, "entropy": 1.0, "cross_layer": 1.0},
            {"exchange": 0, "codewords": 512, "entropy": 8.4, "cross_layer": 8.4},
            {"exchange": 1, "codewords": 512, "entropy": 8.6, "cross_layer": 2.5}],
    }))  # fmt: skip

    chapter = coding_chapter([task], tmp_path)

    text = "\n".join(chapter.text)
    assert "cifar10 (K = 512) 9.25 bits a token fixed, 8.50 by entropy and 4.62 across" in text
    assert "of cifar10 (K = 512) with 16.0 tokens a frame (P = 4)" in text and "0.60" in text
    assert "leaves astra 0.50 of the fixed bits" in text
    sizes = chapter.tables[1][1].iloc[0]
    assert (sizes["tables / codebooks"], sizes["given the one before"]) == ("0.250", "2.50")
    for figure in chapter.figures:
        figure.draw(Sheet(tmp_path / f"{figure.kind}.png"))
        assert (tmp_path / f"{figure.kind}.png").stat().st_size > 5_000
    assert len(chapter.figures[1].data) == 9


def test_an_unusable_info_file_is_named(load, tmp_path):
    task = load(codings())
    (tmp_path / "cifar10" / "codebooks").mkdir()
    (tmp_path / "cifar10" / "codebooks" / "x.info").write_text("{}")

    with pytest.raises(InputError, match="x.info"):
        coding_chapter([task], tmp_path)


CONTEXTS = """\
exchange 0
  alone: 8.50 bits a token
exchange 1
  alone: 8.40 bits a token
  and previous^1.0: 2.50 bits a token, 900 pairs counted
  and next token's previous^0.5: 2.25 bits a token, 1800 pairs counted
"""


def test_contexts_that_pay_are_told_with_what_they_count(load, tmp_path):
    task = load(codings())
    (tmp_path / "cifar10" / "contexts.txt").write_text(CONTEXTS)

    chapter = coding_chapter([task], tmp_path)

    title, table = chapter.tables[-1]
    assert title == "Contexts that pay, ideal bits a token"
    assert table["with all"].tolist() == ["8.50", "2.25"]
    assert table["first context"].tolist() == ["none pays", "previous"]
    assert table["further ones"].tolist() == ["–", "next token's previous"]
    assert "cifar10 2.50 bits a token with the best single one and 2.25" in chapter.text[-1]
    assert "3.0 times the pairs" in chapter.text[-1]


def test_another_text_is_no_study_of_contexts(load, tmp_path):
    task = load(codings())
    (tmp_path / "cifar10" / "contexts.txt").write_text("exchange 0\n  nothing\n")

    with pytest.raises(InputError, match="contexts.txt, line 2"):
        coding_chapter([task], tmp_path)
