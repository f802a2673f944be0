"""Level controllers beside fixed levels: what passes and what does not."""

import json

import numpy as np
import pytest
from thinwire_analysis import level_control
from thinwire_analysis.accuracy_scores import PointScores
from thinwire_analysis.errors import InputError

SAMPLES = 100


def record(level, value, times_s, link="zigbee", metric="accuracy"):
    """Of a fixed level by its codewords, or of a controller by its name. times_s: of each sample"""
    chosen = level in level_control.CONTROLLERS
    times = {"mean": float(np.mean(times_s)), "samples": list(times_s)}
    return {
        "schema": "thinwire.result/1", "id": f"{level}-{link}", "status": "ok",
        "source": "measured",
        "spec": {"model": "vit", "strategy": "trace-b", "devices": 2,
                 "level": level if chosen else 0},
        "codebook": {"active_codewords": 512 if chosen else level, "mean_index_bits": 4.5},
        "accuracy": {"metric": metric, "value": value},
        "time": {"links": [{"link": {"rate_bit_per_s": 1e5, "latency_s": 0.0,
                                     "rate_trace": {"file": f"{link}.csv"}},
                            "latency_s": times, "wait_s": {"mean": 0.0}}]},
        "checks": {"counted_equals_predicted": True},
    }  # fmt: skip


def even(mean_s):
    """Times of samples that all take as long."""
    return np.full(SAMPLES, mean_s)


def uneven(mean_s, spread_s):
    """Times that go up and down by as much."""
    return mean_s + spread_s * np.where(np.arange(SAMPLES) % 2, 1, -1)


def scored(level, right, times_s, link="zigbee"):
    """A record and its scores. right: the numbers of the samples that are answered rightly"""
    hit = np.isin(np.arange(SAMPLES), right).astype(float)
    made = record(level, hit.mean(), times_s, link)
    return made, PointScores({"predicted": hit, "label": np.ones(SAMPLES)})


def verdicts(*found):
    """Of records, with or without their scores."""
    pairs = [each if isinstance(each, tuple) else (each, None) for each in found]
    scores = {record["id"]: own for record, own in pairs if own is not None}
    return level_control.judge(level_control.timed_frame([r for r, _ in pairs], scores))


def outcomes(*found):
    return [verdict.outcome for verdict in verdicts(*found)]


FIXED = [record(2, 0.3, even(1.0)), record(32, 0.5, even(2.0)), record(512, 0.6, even(4.0))]


class TestScoresWithoutIntervals:
    def test_passes_where_what_scores_as_well_is_slower(self):
        [found] = verdicts(*FIXED, record("adaptive", 0.55, even(3.0)))
        assert found.outcome == "pass"
        assert "beside it K = 512: time (%) +33.333 [+33.333, +33.333], top-1 (%) +5.00" in str(found)

    def test_fails_beside_a_faster_level_that_scores_as_well(self):
        [found] = verdicts(*FIXED, record("adaptive", 0.5, even(2.5)))
        assert found.outcome == "FAIL"
        assert "beside it K = 32: time (%) -20.000" in str(found)

    def test_equal_latency_and_score_pass(self):
        assert outcomes(*FIXED, record("adaptive", 0.6, even(4.0))) == ["pass"]

    def test_passes_without_a_rival(self):
        [found] = verdicts(*FIXED, record("adaptive", 0.7, even(9.0)))
        assert found.outcome == "pass"
        assert "every fixed level scores worse" in str(found)

    def test_lower_is_better_for_bits_per_byte(self):
        rival = record(512, 2.0, even(4.0), metric="bits_per_byte")
        worse = record("probing", 2.1, even(5.0), metric="bits_per_byte")
        better = record("probing", 1.9, even(5.0), metric="bits_per_byte")
        assert outcomes(rival, worse) == ["FAIL"]
        assert outcomes(rival, better) == ["pass"]


class TestChance:
    def test_a_level_whose_time_differs_by_chance_ties(self):
        own = record("adaptive", 0.5, even(2.0))

        assert outcomes(record(32, 0.5, uneven(1.99, 0.5)), own) == ["tie"]
        assert outcomes(record(32, 0.5, uneven(2.01, 0.5)), own) == ["tie"]
        assert outcomes(record(32, 0.5, uneven(1.99, 0.01)), own) == ["FAIL"]
        assert outcomes(record(32, 0.5, uneven(2.01, 0.01)), own) == ["pass"]

    def test_a_level_that_is_hardly_faster_ties(self):
        own = record("adaptive", 0.5, even(2.0))

        assert outcomes(record(32, 0.5, even(1.9999)), own) == ["tie"]
        assert outcomes(record(32, 0.5, even(1.99)), own) == ["FAIL"]

    def test_a_faster_level_that_scores_worse_by_chance_ties(self):
        own = scored("adaptive", range(50), even(2.0))
        by_chance = scored(32, range(2, 51), even(1.0))
        by_more = scored(32, range(20, 51), even(1.0))

        assert outcomes(by_chance, own) == ["tie"]
        assert outcomes(by_more, own) == ["pass"]

    def test_a_faster_level_that_scores_no_worse_fails_the_controller(self):
        own = scored("adaptive", range(50), even(2.0))

        for right in (range(50), range(1, 51), range(60)):
            assert outcomes(scored(32, right, even(1.9)), own) == ["FAIL"]

    def test_a_level_is_as_slow_in_every_sample_or_it_ties(self):
        own = scored("adaptive", range(50), even(2.0))
        once_faster = even(2.0)
        once_faster[7] = 1.0

        assert outcomes(scored(2, range(50), even(2.0)), own) == ["pass"]
        assert outcomes(scored(2, range(50), once_faster), own) == ["tie"]

    def test_the_level_that_fails_it_decides(self):
        own = scored("adaptive", range(50), even(2.0))
        close = scored(2, range(2, 51), even(1.0))
        beats = scored(32, range(50), even(1.9))

        [found] = verdicts(close, beats, own)
        assert (found.outcome, found.rival.level) == ("FAIL", "32")


def test_places_are_judged_apart():
    found = outcomes(*FIXED, record("adaptive", 0.55, even(3.0)),
                     record("adaptive", 0.5, even(1.0), "lora"),
                     record(2, 0.5, even(0.5), "lora"))  # fmt: skip
    assert found == ["pass", "FAIL"]


def test_coded_indices_are_another_place():
    coded = [record(level, 0.3, even(2.0)) for level in (2, "adaptive")]
    for made in coded:
        made["spec"]["index-coding"] = "cross-layer"
        made["id"] += "-coded"
    found = verdicts(*FIXED, record("adaptive", 0.6, even(4.0)), *coded)
    assert [verdict.place[3] for verdict in found] == ["zigbee", "zigbee, cross-layer"]


def test_other_samples_and_no_levels_are_errors():
    with pytest.raises(InputError, match="times of 2 samples, adaptive of 100"):
        verdicts(record(2, 0.5, [1.0, 2.0]), record("adaptive", 0.5, even(1.0)))
    with pytest.raises(InputError, match="adaptive: vit trace-b P=2, zigbee: no fixed level"):
        verdicts(record("adaptive", 0.5, even(1.0)))


def test_the_table_has_a_row_a_level():
    shown = level_control.table(level_control.timed_frame([*FIXED, record("adaptive", 0.5, even(3.0))]))
    assert list(shown["level"]) == ["K = 2", "K = 32", "K = 512", "adaptive"]
    assert list(shown["bits an index"]) == ["1.00", "5.00", "9.00", "4.50"]


def test_a_controller_that_is_reported_beside_decides_no_status(tmp_path, capsys):
    schema = tmp_path / "schema.json"
    schema.write_text("{}")
    (tmp_path / "a.jsonl").write_text(
        "".join(json.dumps(r) + "\n" for r in [*FIXED, record("adaptive", 0.55, even(3.0)),
                                               record("probing", 0.5, even(2.5))])
    )  # fmt: skip
    assert level_control.main([str(tmp_path), "--schema", str(schema)]) == 0
    out = capsys.readouterr().out
    assert "FAIL  probing" in out and "pass  adaptive" in out
    assert "adaptive: 1 pass, 0 tie, 0 fail of 1 places" in out


def test_scores_lie_beside_the_records(tmp_path, capsys):
    schema = tmp_path / "schema.json"
    schema.write_text("{}")
    found = [scored("adaptive", range(50), even(2.0)), scored(32, range(2, 51), even(1.0))]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(r) + "\n" for r, _ in found))
    lines = [{"id": r["id"], "predicted": list(own.column("predicted")),
              "label": list(own.column("label"))} for r, own in found]  # fmt: skip
    (tmp_path / "a.scores").write_text("".join(json.dumps(line) + "\n" for line in lines))

    assert level_control.main([str(tmp_path), "--schema", str(schema)]) == 0
    assert "tie  adaptive" in capsys.readouterr().out


def test_records_without_times_are_an_error():
    untimed = {**FIXED[0], "time": None}
    with pytest.raises(InputError, match="rate-trace"):
        level_control.timed_frame([untimed])


def test_the_command_says_what_fails(tmp_path, capsys):
    schema = tmp_path / "schema.json"
    schema.write_text("{}")
    (tmp_path / "a.jsonl").write_text(
        "".join(json.dumps(r) + "\n" for r in [*FIXED, record("adaptive", 0.5, even(2.5))])
    )
    assert level_control.main([str(tmp_path), "--schema", str(schema)]) == 1
    out = capsys.readouterr().out
    assert "FAIL  adaptive: vit trace-b P=2, zigbee" in out and "| K = 32 |" in out
    assert level_control.main([str(tmp_path / "none"), "--schema", str(schema)]) == 2
