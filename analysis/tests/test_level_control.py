"""Level controllers beside fixed levels: what passes and what does not."""

import json

import pytest
from thinwire_analysis import level_control
from thinwire_analysis.errors import InputError


def record(level, value, mean_s, link="zigbee", metric="accuracy"):
    """Of a fixed level by its codewords, or of a controller by its name."""
    chosen = level in level_control.CONTROLLERS
    times = {"mean": mean_s}
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


def verdicts(*records):
    return level_control.judge(level_control.timed_frame(records))


FIXED = [record(2, 0.3, 1.0), record(32, 0.5, 2.0), record(512, 0.6, 4.0)]


def test_a_controller_passes_that_is_faster_than_what_scores_as_well():
    [check] = verdicts(*FIXED, record("adaptive", 0.55, 3.0))
    assert check.passed
    assert "0.750 of the time of K = 512" in check.detail


def test_a_controller_fails_beside_a_faster_level_that_scores_as_well():
    [check] = verdicts(*FIXED, record("adaptive", 0.5, 2.5))
    assert not check.passed
    assert "1.250 of the time of K = 32" in check.detail


def test_equal_latency_and_score_pass():
    [check] = verdicts(*FIXED, record("adaptive", 0.6, 4.0))
    assert check.passed


def test_a_controller_without_a_rival_passes_and_one_without_levels_fails():
    assert verdicts(*FIXED, record("adaptive", 0.7, 9.0))[0].passed
    assert not verdicts(record("adaptive", 0.7, 9.0))[0].passed


def test_lower_is_better_for_bits_per_byte():
    rival = record(512, 2.0, 4.0, metric="bits_per_byte")
    assert not verdicts(rival, record("probing", 2.1, 5.0, metric="bits_per_byte"))[0].passed
    assert verdicts(rival, record("probing", 1.9, 5.0, metric="bits_per_byte"))[0].passed


def test_places_are_judged_apart():
    checks = verdicts(*FIXED, record("adaptive", 0.55, 3.0), record("adaptive", 0.5, 1.0, "lora"),
                      record(2, 0.5, 0.5, "lora"))  # fmt: skip
    assert [check.passed for check in checks] == [True, False]


def test_the_table_has_a_row_a_level():
    shown = level_control.table(level_control.timed_frame([*FIXED, record("adaptive", 0.5, 3.0)]))
    assert list(shown["level"]) == ["2", "32", "512", "adaptive"]
    assert list(shown["bits an index"]) == ["1.00", "5.00", "9.00", "4.50"]


def test_a_controller_that_is_reported_beside_decides_no_status(tmp_path, capsys):
    schema = tmp_path / "schema.json"
    schema.write_text("{}")
    (tmp_path / "a.jsonl").write_text(
        "".join(json.dumps(r) + "\n" for r in [*FIXED, record("adaptive", 0.55, 3.0),
                                               record("probing", 0.5, 2.5)])
    )  # fmt: skip
    assert level_control.main([str(tmp_path), "--schema", str(schema)]) == 0
    out = capsys.readouterr().out
    assert "WORSE  probing" in out and "pass  adaptive" in out


def test_records_without_times_are_an_error():
    untimed = {**FIXED[0], "time": None}
    with pytest.raises(InputError, match="rate-trace"):
        level_control.timed_frame([untimed])


def test_the_command_says_what_fails(tmp_path, capsys):
    schema = tmp_path / "schema.json"
    schema.write_text("{}")
    (tmp_path / "a.jsonl").write_text(
        "".join(json.dumps(r) + "\n" for r in [*FIXED, record("adaptive", 0.5, 2.5)])
    )
    assert level_control.main([str(tmp_path), "--schema", str(schema)]) == 1
    out = capsys.readouterr().out
    assert "FAIL  adaptive: vit trace-b P=2, zigbee" in out and "| 32 |" in out
    assert level_control.main([str(tmp_path / "none"), "--schema", str(schema)]) == 2
