"""A model with one output: `run` shows its value, not a class that is certain."""

import json
import struct

import pytest
from places import GOLDEN, MODELS


def read_tensors(path):
    """name: (header entry, bytes)"""
    content = path.read_bytes()
    begin = 8 + int.from_bytes(content[:8], "little")
    tensors = {}
    for name, entry in json.loads(content[8:begin]).items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            tensors[name] = (entry, content[begin + first : begin + last])
    return tensors


def write_tensors(path, tensors):
    header, data = {}, b""
    for name, (entry, content) in tensors.items():
        offsets = [len(data), len(data) + len(content)]
        header[name] = {**entry, "data_offsets": offsets}
        data += content
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


@pytest.fixture
def one_output(tmp_path):
    """bert-tiny with the first of its two outputs alone."""
    folder = tmp_path / "bert-one"
    folder.mkdir()
    config = json.loads((MODELS / "bert-tiny" / "config.json").read_text(encoding="utf-8"))
    config.update({"id2label": {"0": "LABEL_0"}, "problem_type": "regression"})
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    tensors = read_tensors(MODELS / "bert-tiny" / "model.safetensors")
    for name in ("classifier.weight", "classifier.bias"):
        entry, content = tensors[name]
        shape = [1, *entry["shape"][1:]]
        tensors[name] = ({**entry, "shape": shape}, content[: len(content) // 2])
    write_tensors(folder / "model.safetensors", tensors)
    return folder


@pytest.mark.parametrize("strategy", ["single", "voltage", "tensor", "pipeline"])
def test_the_value_is_the_first_logit(strategy, one_output, thinwire, tmp_path):
    golden = read_tensors(GOLDEN / "bert-tiny.safetensors")
    data = tmp_path / "data.safetensors"
    ids, content = golden["input"]
    row = {"dtype": "I32", "shape": [1, *ids["shape"]]}
    write_tensors(
        data,
        {
            "input_ids": (row, content),
            "attention_mask": (row, struct.pack("<i", 1) * ids["shape"][0]),
            "score": ({"dtype": "F32", "shape": [1]}, struct.pack("<f", 2.5)),
        },
    )
    devices = "1" if strategy == "single" else "2"

    (record,) = thinwire.records(
        *("run", "--model", one_output, "--input", data, "--strategy", strategy),
        *("--devices", devices, "--iterations", "2", "--warmup", "0"),
    )

    first = struct.unpack("<f", golden["single.logits"][1][:4])[0]
    answer = record["answer"]
    assert answer["kind"] == "regression" and answer["score"] == 2.5
    assert answer["value"] == pytest.approx(first, abs=1e-5)
    assert answer["single_value"] == pytest.approx(first, abs=1e-5)
    assert record["checks"]["counted_equals_predicted"] is True


def test_people_read_the_value(one_output, thinwire):
    done = thinwire("run", "--model", one_output, "--input", GOLDEN / "bert-tiny.safetensors")

    assert done.returncode == 0, done.stderr
    assert "answer      value " in done.stdout and "one device" in done.stdout
    assert "100.00 %" not in done.stdout
