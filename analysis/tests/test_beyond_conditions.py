"""Losses, levels on changing links and payloads: tables and words from small records."""

import json

import numpy as np
import pandas as pd
import pytest

from beyond_synthetic import evaluated, scores_of, timed
from thinwire_analysis.accuracy_scores import PointScores
from thinwire_analysis.accuracy_study import load_task
from thinwire_analysis.beyond import PARTS
from thinwire_analysis.beyond_control_chapter import control_chapter, control_verdicts
from thinwire_analysis.beyond_loss_chapter import loss_chapter
from thinwire_analysis.beyond_payload_chapter import (
    check_int8,
    payload_chapter,
    payload_pairs,
    payload_table,
    sources,
)
from thinwire_analysis.beyond_records import conditions_frame, folder_records
from thinwire_analysis.figures import Sheet


def write_task(folder, part, records, predictions=()):
    """A task's folder with one part and the scores of its records."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{part}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    lines = [scores_of(r, p) for r, p in zip(records, predictions or [None] * len(records))]
    (folder / f"{part}.scores").write_text("".join(json.dumps(line) + "\n" for line in lines))


def text_of(chapter):
    return "\n".join(chapter.text)


class TestLoss:
    @staticmethod
    def scored():
        values = {
            ("skip", 0.05): 0.65, ("reuse", 0.05): 0.69, ("skip", 0.2): 0.4, ("reuse", 0.2): 0.6,
        }  # fmt: skip
        lossy = [
            evaluated("voltage", value=value, loss=loss, **{"on-loss": policy})
            for (policy, loss), value in values.items()
        ]
        return [evaluated("voltage", value=0.7), *lossy]

    def test_a_row_a_policy_and_a_column_a_loss_rate(self):
        chapter = loss_chapter(self.scored())

        (title, table), = chapter.tables
        assert title == "Score against the loss rate"
        assert list(table.columns)[-3:] == ["0 %", "5 %", "20 %"]
        rows = {row["lost packets"]: list(row[-3:]) for _, row in table.iterrows()}
        assert rows == {"skip": ["70.00", "65.00", "40.00"], "reuse": ["70.00", "69.00", "60.00"]}

    def test_the_words_name_the_better_policy(self):
        text = text_of(loss_chapter(self.scored()))

        assert "with 20 % of the packets lost" in text
        assert "voltage on 2 devices from 70.00 to 60.00 (reuse)" in text
        assert "chance" not in text

    def test_what_is_more_than_chance_needs_scores_of_samples(self):
        records = self.scored()
        right = {0.7: 70, 0.65: 65, 0.69: 69, 0.4: 40, 0.6: 60}
        scores = {
            r["id"]: PointScores({
                "predicted": np.arange(100) < right[r["accuracy"]["value"]], "label": np.ones(100)
            }) for r in records
        }  # fmt: skip

        text = text_of(loss_chapter(records, scores))

        assert "Of 2 pairs" in text and "in 1 and lower in 0" in text
        assert "fall by more than chance are 1 of 2 at 5 %; at 20 % it is 2 of 2" in text

    def test_packets_sent_again_lengthen_the_mean(self):
        records = [timed("prism", mean_s=0.1, segments=10),
                   timed("prism", mean_s=0.15, segments=10, loss=0.1)]  # fmt: skip

        chapter = loss_chapter(records)

        assert chapter.tables[0][1]["10 %"].tolist() == ["150"]
        assert "multiplies the mean latency by at most 1.50" in text_of(chapter)

    def test_without_losses_there_is_no_chapter(self):
        assert loss_chapter([]) is None
        assert loss_chapter([evaluated("voltage")]) is None


class TestControl:
    LTE = {"rate_trace": {"file": "lte.csv", "fingerprint": "0" * 16}}

    def records(self, adaptive_s=0.1, value=(0.8, 0.5, 0.7)):
        made = [
            timed("trace-b", mean_s=0.12, link=self.LTE, **{"active-codewords": 1024, "level": 4}),
            timed("trace-b", mean_s=0.11, link=self.LTE, **{"active-codewords": 2, "level": 0}),
            timed("trace-b", mean_s=adaptive_s, link=self.LTE, level="adaptive"),
        ]
        for found, score, codewords in zip(made, value, (1024, 2, 1024)):
            found["accuracy"] = {"metric": "accuracy", "value": score, "interval_95": [0, 1]}
            found["time"]["links"][0]["wait_s"] = {"mean": 0.0}
            found["codebook"] = {"active_codewords": codewords, "mean_index_bits": 6.5}
        return made

    def chapter(self, **given):
        records = self.records(**given)
        return control_chapter(records, control_verdicts(records))

    def test_a_column_a_level_and_who_chooses(self):
        (_, times), (_, beside) = self.chapter().tables

        assert times.iloc[0].to_dict() == {
            "link": "lte", "model": "vit-base-16", "strategy": "trace-b", "P": 2,
            "K = 2": "110", "K = 1024": "120", "adaptive": "100",
        }  # fmt: skip
        [row] = beside.to_dict("records")
        assert row["place"] == "vit-base-16 trace-b P=2, lte"
        assert (row["bits an index"], row["verdict"], row["beside it"]) == (
            "6.50", "pass", "K = 1024",
        )  # fmt: skip
        assert row["its time (%)"].startswith("+20.000") and row["its score"].startswith("+10.00")

    def test_says_where_a_level_is_faster(self):
        ahead, behind = self.chapter(), self.chapter(adaptive_s=0.15)

        assert "(adaptive) against every fixed level: 1 pass, 0 tie, 0 fail of 1" in ahead.lead
        assert "0 pass, 0 tie, 1 fail of 1 places. It fails at vit-base-16 trace-b" in behind.lead
        assert "(K = 1024, 20 % less time)" in behind.lead

    def test_says_where_finer_is_not_better(self):
        assert "as if finer were better" not in text_of(self.chapter())
        text = text_of(self.chapter(value=(0.6, 0.65, 0.6)))
        assert "than K = 2 of vit-base-16 trace-b on 2 devices. No rate" in text

    def test_says_what_a_little_more_time_buys(self):
        assert "buy much" not in text_of(self.chapter())
        text = text_of(self.chapter(adaptive_s=0.119))
        assert "At 1 of 1 places a fixed level scores better" in text
        assert "K = 1024 with top-1 (%) +10.00 [+10.00, +10.00] for +0.84 % of the time" in text

    def test_a_figure_each_for_latencies_and_for_coded_indices(self):
        records = self.records()
        for made in self.records():
            made["time"]["links"][0]["link"]["latency_s"] = 0.01
            records.append({**made, "id": made["id"] + "-late"})
        for made in self.records():
            made["spec"]["index-coding"] = "cross-layer"
            records.append({**made, "id": made["id"] + "-coded"})
        figures = control_chapter(records, control_verdicts(records)).figures

        assert [figure.kind for figure in figures] == [
            "control", "control-latency", "control-cross-layer",
        ]  # fmt: skip
        assert figures[2].title.endswith("on links that change, cross-layer indices")
        assert [len(figure.data) for figure in figures] == [1, 1, 1]

    def test_without_a_controller_there_is_no_chapter(self):
        assert control_verdicts([]) == []
        assert control_verdicts(self.records()[:2]) == []
        assert control_chapter(self.records()[:2], []) is None


class TestPayload:
    @pytest.fixture
    def pairs_of(self, tmp_path):
        def make(value, bits=254.0, predicted=None):
            records = [
                evaluated("single", 1, bits=0),
                evaluated("voltage", value=0.7),
                evaluated("voltage", value=value, payload="int8"),
                evaluated("prism", value=0.5, payload="int8"),  # without its fp32
            ]
            for made, sent in zip(records, (0, 1000.0, bits, 10.0)):
                made["traffic"] |= {"nominal_bits_per_inference": sent,
                                    "compression_rate": 1000.0 / (sent or 1000.0)}  # fmt: skip
            write_task(tmp_path / "cifar10", "exact", records, [None, None, predicted, None])
            task = load_task(tmp_path / "cifar10", None, PARTS)
            return payload_pairs(sources([task], tmp_path / "payload", None))

        return make

    def test_holds_a_payload_against_its_fp32_point(self, pairs_of):
        pairs = pairs_of(0.75, predicted=[0, 1, 2, 9])

        assert pairs.label.tolist() == ["voltage"]
        assert pairs.points.tolist() == [pytest.approx(25.0)]
        assert payload_table(pairs)["bits of fp32's"].tolist() == ["0.254"]
        unscored = payload_table(pairs_of(0.7))["difference"].tolist()
        assert all("–" not in text and not text.startswith("-0") for text in unscored)
        assert "int8 sends at most 0.254 of the bits" in text_of(payload_chapter(pairs))

    def test_accepts_equal_answers_and_refuses_lost_points_and_wide_rows(self, pairs_of):
        assert check_int8(pairs_of(0.7)).passed
        assert not check_int8(pairs_of(0.7, predicted=[9, 9, 9, 9])).passed
        assert not check_int8(pairs_of(0.7, bits=500.0)).passed

    def test_of_few_samples_one_may_be_lost(self, pairs_of):
        pairs = pairs_of(0.7, predicted=[0, 1, 2, 9])

        check = check_int8(pairs.assign(one_sample=25.0))
        assert check.passed and "at most 25.00 points lost" in check.detail
        assert not check_int8(pairs.assign(one_sample=0.1)).passed

    def test_the_scripts_records_add_what_the_tasks_lack(self, pairs_of, tmp_path):
        for name in ("digits", "cifar10"):
            records = [
                evaluated("voltage", value=0.7), evaluated("voltage", value=0.6, payload="int8")
            ]  # fmt: skip
            for made, sent in zip(records, (100.0, 25.0)):
                made["traffic"]["nominal_bits_per_inference"] = sent
            write_task(tmp_path / "payload", name, records)

        pairs = pairs_of(0.7)

        assert pairs.task.tolist() == ["cifar10", "digits"]
        assert pairs.ratio.tolist() == [0.254, 0.25]

    def test_without_pairs_there_is_no_chapter(self):
        assert payload_chapter(pd.DataFrame()) is None


def test_records_of_a_folder_that_is_not_there_are_none(tmp_path):
    assert folder_records(tmp_path / "loss", None) == []


def test_a_record_without_times_has_one_row():
    frame = conditions_frame([evaluated("astra", **{"active-codewords": 512}), timed("voltage")])

    assert frame.label.tolist() == ["astra, K = 512", "voltage"]
    assert frame.mean_s.isna().tolist() == [True, False]


@pytest.mark.parametrize("chapter", [
    loss_chapter(TestLoss.scored()),
    loss_chapter([timed("prism", segments=10), timed("prism", segments=10, loss=0.1)]),
    TestControl().chapter(),
])  # fmt: skip
def test_figures_can_be_drawn(chapter, tmp_path):
    for figure in chapter.figures:
        figure.draw(Sheet(tmp_path / f"{figure.kind}.png"))

        assert (tmp_path / f"{figure.kind}.png").stat().st_size > 5_000
    assert chapter.figures
