import json

import numpy as np
import pytest

from thinwire_analysis.errors import InputError
from thinwire_analysis.padded_inputs import lengths, main, padded, read_tensors, write_tensors

LENGTHS = [3, 5, 8, 2, 4, 4]


@pytest.fixture
def packed(tmp_path):
    """Three pairs of true lengths in rows of 8."""
    ids = np.zeros((6, 8), np.int32)
    for row, length in enumerate(LENGTHS):
        ids[row, :length] = np.arange(1, length + 1) + 10 * row
    path = tmp_path / "packed.safetensors"
    write_tensors(path, {"input_ids": ids, "length": np.array(LENGTHS, np.int32),
                         "score": np.array([1, 2, 3], np.float32)})  # fmt: skip
    return path


def test_tensors_are_read_as_they_were_written(packed):
    found = read_tensors(packed)

    assert found["length"].tolist() == LENGTHS
    assert found["input_ids"].shape == (6, 8) and found["score"].dtype == np.float32


def test_padding_keeps_the_tokens_and_masks_the_rest(packed, tmp_path):
    wide = padded(packed, 1, 2, 16)

    write_tensors(tmp_path / "wide.safetensors", wide)
    found = read_tensors(tmp_path / "wide.safetensors")
    assert found["attention_mask"].sum(axis=1).tolist() == LENGTHS[2:]
    assert found["input_ids"][0, :9].tolist() == [*range(21, 29), 0]
    assert found["score"].tolist() == [2, 3]


def test_packed_sequences_reach_past_device_0_and_padded_ones_do_not(packed, tmp_path):
    write_tensors(tmp_path / "wide.safetensors", padded(packed, 0, 2, 16))

    own = lengths(packed, 0, 2, 2)
    wide = lengths(tmp_path / "wide.safetensors", 0, 2, 2)
    three = lengths(tmp_path / "wide.safetensors", 0, 2, 3)

    assert (own["past"], own["sequences"], own["samples_past"]) == (6, 6, 3)
    assert (wide["past"], wide["positions"]) == (0, 16)  # device 0 has 8 positions
    assert (three["past"], three["samples_past"]) == (1, 1)  # 5 positions; one sequence has 8


def test_lengths_are_added_to_the_file(packed, tmp_path):
    out = tmp_path / "padding.json"
    for samples in ("0..1", "0..2", "0..2"):
        assert (
            main(
                [
                    "lengths",
                    str(packed),
                    "--samples",
                    samples,
                    "--devices",
                    "2,3",
                    "--out",
                    str(out),
                ]
            )
            == 0
        )

    found = json.loads(out.read_text())
    assert [(e["last"], e["devices"]) for e in found] == [(1, 2), (1, 3), (2, 2), (2, 3)]


@pytest.mark.parametrize("samples", ["0..3", "2..1", "x"])
def test_samples_that_are_not_there_are_bad_input(samples, packed, tmp_path, capsys):
    out = str(tmp_path / "padding.json")

    assert main(["lengths", str(packed), "--samples", samples, "--out", out]) == 2
    assert "error: " in capsys.readouterr().err


def test_too_few_positions_and_no_safetensors_file_are_bad_input(packed, tmp_path):
    with pytest.raises(InputError, match="has 8 tokens"):
        padded(packed, 0, 2, 6)
    (tmp_path / "broken").write_bytes(b"12345678")
    with pytest.raises(InputError, match="no safetensors file"):
        read_tensors(tmp_path / "broken")
