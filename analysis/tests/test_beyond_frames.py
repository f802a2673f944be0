"""What is said of frames that thinwire_code_frames coded."""

import json
from types import SimpleNamespace

import pytest

from thinwire_analysis.beyond_frames import (
    check_frames,
    frames_text,
    lengths_table,
    load_frames,
    times_table,
)
from thinwire_analysis.errors import InputError


def row(exchange, encode_s=8e-6, decode_s=10e-6, bits=(12.0, 180.0)):
    return {
        "exchange": exchange,
        "lengths": [
            {"tokens": 1, "fixed_bits": 24, "cross_layer_bits": bits[0]},
            {"tokens": 99, "fixed_bits": 904, "cross_layer_bits": bits[1]},
        ],
        "time": {"tokens": 99, "frames": 300, "encode_s": encode_s, "decode_s": decode_s},
    }


@pytest.fixture
def load(tmp_path):
    def make(text):
        folder = tmp_path / "sts"
        folder.mkdir()
        (folder / "frames.json").write_text(text)
        return load_frames([SimpleNamespace(name="sts"), SimpleNamespace(name="none")], tmp_path)

    return make


def test_short_frames_are_told_beside_long_ones_without_the_first_exchange(load):
    frames = load(json.dumps([row(0, bits=(20.0, 700.0)), row(1), row(2, bits=(14.0, 200.0))]))
    table = lengths_table(frames)
    assert list(table.tokens) == [1, 99]
    assert list(table["cross-layer (bits)"]) == ["13.0", "190.0"]
    assert list(table.ratio) == ["0.542", "0.210"]
    text = frames_text(frames)
    assert "sts 13.0 of 24 bits with 1 token and 190.0 of 904 with 99" in text
    assert "18.0 µs at most" in text


def test_the_slowest_exchange_is_judged(load):
    frames = load(json.dumps([row(0), row(1, decode_s=12.5e-6)]))
    (check,) = check_frames(frames)
    assert not check.passed
    assert "18.0 to 20.5 µs" in str(check)
    assert list(times_table(frames)["both (µs)"]) == ["18.0", "20.5"]
    (check,) = check_frames({"sts": frames["sts"][:1]})
    assert check.passed


@pytest.mark.parametrize("text", ["", "[{}]", "[1]", '[{"exchange": 1, "lengths": []}]'])
def test_other_files_are_refused_by_name(load, text):
    with pytest.raises(InputError, match="frames.json"):
        load(text)


def test_nothing_is_said_without_frames():
    assert frames_text({}) == ""
    assert check_frames({}) == []
