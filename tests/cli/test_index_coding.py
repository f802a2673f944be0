"""--index-coding: the same answers in fewer bits, what records and `predict` say of them, bad input."""

import json
import shutil

import data_files
import jsonschema
import pytest
from places import MODELS, SCHEMA

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
GOLDEN = MODELS.parent
CODINGS = ("entropy", "cross-layer")
FAST = ("--iterations", "1", "--warmup", "0")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    return data_files.pictures(folder / "pictures.safetensors", samples=24)


def valid(record):
    jsonschema.validate(record, json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert record["status"] == "ok"
    return record


def train(thinwire, pictures, strategy="trace-b", **options):
    words = ["codebook", "train", "--model", MODELS / "vit-tiny", "--input", pictures, "--samples", "0..19",
             "--strategy", strategy, "--codewords", "32", "--batch", "8",
             "--out", "codebooks.safetensors"]  # fmt: skip
    for name, value in options.items():
        words += [f"--{name}", value]
    done = thinwire(*words)
    assert done.returncode == 0, done.stderr


def run(thinwire, pictures, strategy, coding, *more):
    return valid(thinwire.records(
        "run", "--model", MODELS / "vit-tiny", "--input", pictures, "--strategy", strategy, "--devices", "2",
        "--codebook", "codebooks.safetensors", "--index-coding", coding,
        "--outputs", f"{coding}.safetensors", *FAST, *more)[-1])  # fmt: skip


@pytest.mark.parametrize("strategy, groups", [("trace-b", 1), ("trace-nb", 1), ("astra", 2)])
def test_a_trained_file_codes_indices_and_answers_alike(thinwire, pictures, strategy, groups):
    train(thinwire, pictures, strategy, **({"groups": groups} if groups > 1 else {}))
    more = ("--groups", groups) if groups > 1 else ()
    fixed = run(thinwire, pictures, strategy, "fixed", *more)

    assert fixed["checks"]["counted_equals_predicted"] is True
    assert "index_coding" not in fixed["traffic"]
    outputs = (thinwire.folder / "fixed.safetensors").read_bytes()
    for coding in CODINGS:
        record = run(thinwire, pictures, strategy, coding, *more)
        bits = record["traffic"]["index_coding"]
        assert record["spec"]["index-coding"] == bits["coding"] == coding
        assert record["checks"]["counted_equals_predicted"] is True
        assert bits["counted_bits"] == sum(8 * sent for sent in record["traffic"]["per_device"]["wire_bytes"])
        assert bits["counted_bits"] <= bits["worst_case_bits"]
        assert bits["expected_bits"] < bits["worst_case_bits"]
        assert bits["fixed_bits"] == sum(8 * sent for sent in fixed["traffic"]["per_device"]["wire_bytes"])
        assert (thinwire.folder / f"{coding}.safetensors").read_bytes() == outputs
        assert record["id"] != fixed["id"]


def test_links_of_one_execution_and_real_ranks_agree(thinwire, pictures):
    train(thinwire, pictures)
    record = run(thinwire, pictures, "trace-b", "cross-layer", "--rate", "1Mbps,100Mbps")

    assert len(record["time"]["links"]) == 2
    native = run(thinwire, pictures, "trace-b", "cross-layer", "--clock", "native")
    assert native["traffic"]["per_device"] == record["traffic"]["per_device"]


def test_a_terminal_takes_coded_indices(thinwire, pictures):
    train(thinwire, pictures)
    fixed = run(thinwire, pictures, "trace-b", "fixed", "--io", "terminal")
    coded = run(thinwire, pictures, "trace-b", "cross-layer", "--io", "terminal")

    assert coded["checks"]["counted_equals_predicted"] is True
    assert coded["traffic"]["terminal_wire_bytes"] == fixed["traffic"]["terminal_wire_bytes"]
    assert coded["answer"] == fixed["answer"]


def test_predict_tells_what_the_tables_expect(thinwire, pictures):
    train(thinwire, pictures)
    words = ("--model", MODELS / "vit-tiny", "--strategy", "trace-b", "--devices", "2", "--codebook",
             "codebooks.safetensors", "--index-coding", "cross-layer")  # fmt: skip
    record = valid(thinwire.records("predict", *words)[-1])

    bits = record["traffic"]["index_coding"]
    assert bits["counted_bits"] is None
    per_device = record["traffic"]["per_device"]
    assert bits["expected_bits"] == 8 * sum(per_device["wire_bytes"]) < bits["fixed_bits"]
    for_people = thinwire("predict", *words)
    assert "expected by the tables" in for_people.stdout


def test_eval_counts_every_sample(thinwire, pictures):
    train(thinwire, pictures)
    words = ("eval", "--model", MODELS / "vit-tiny", "--data", pictures, "--samples", "20..23", "--strategy",
             "trace-b", "--devices", "2", "--codebook", "codebooks.safetensors")  # fmt: skip
    fixed, coded = (valid(record) for record in thinwire.records(
        *words, "--index-coding", "fixed,cross-layer"))  # fmt: skip

    assert coded["checks"]["counted_equals_predicted"] is True
    assert coded["accuracy"]["value"] == fixed["accuracy"]["value"]
    bits = coded["accuracy"]["index_coding"]
    assert bits["mean_bits"] == coded["accuracy"]["bits_per_inference"] <= bits["most_bits"]
    assert bits["fixed_mean_bits"] == fixed["accuracy"]["bits_per_inference"]
    assert bits["ratio"] == pytest.approx(bits["mean_bits"] / bits["fixed_mean_bits"])
    assert sum(bits["bits_per_token"]) * 17 == pytest.approx(bits["mean_bits"])
    shared = thinwire(*words, "--index-coding", "cross-layer", "--json", "shared.jsonl",
                      prefix=("mpirun", "--oversubscribe", "--bind-to", "none", "-n", "3"),
                      environment=AS_ROOT)  # fmt: skip
    assert shared.returncode == 0, shared.stderr
    assert thinwire.read("shared.jsonl")[0]["accuracy"]["index_coding"] == bits


def test_tables_are_added_to_codebooks_that_exist(thinwire, pictures):
    shutil.copy(GOLDEN / "vit-tiny.safetensors", thinwire.folder / "codebooks.safetensors")
    words = ("run", "--model", MODELS / "vit-tiny", "--strategy", "trace-b", "--devices", "2", "--codebook",
             "codebooks.safetensors", *FAST)  # fmt: skip
    before = thinwire.records(*words)[-1]
    refused = thinwire(*words, "--index-coding", "entropy")
    assert refused.returncode == 2
    assert "codebook coding" in refused.stderr

    done = thinwire("codebook", "coding", "codebooks.safetensors", "--model", MODELS / "vit-tiny",
                    "--input", pictures, "--samples", "0..9")  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert thinwire.records(*words)[-1]["id"] == before["id"]  # the tables change no answer
    assert valid(thinwire.records(*words, "--index-coding", "cross-layer")[-1])
    again = thinwire("codebook", "coding", "codebooks.safetensors", "--model", MODELS / "vit-tiny",
                     "--input", pictures, "--samples", "0..9", "--out", "again.safetensors")  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert (thinwire.folder / "again.safetensors").read_bytes() == (
        thinwire.folder / "codebooks.safetensors").read_bytes()  # fmt: skip


def test_info_shows_sizes_and_bits_of_the_tables(thinwire, pictures):
    train(thinwire, pictures)
    words = ("codebook", "info", "codebooks.safetensors", "--model", MODELS / "vit-tiny")
    info = json.loads(thinwire(*words, "--json").stdout)

    assert 0 < info["storage"]["index_tables_file_bytes"] <= info["storage"]["index_tables_bytes"]
    assert len(info["index_bits"]) == 3 * len(info["levels"])
    for row in info["index_bits"]:
        assert 0 < row["entropy"] <= row["fixed"] + 1.5
    assert "cross-layer" in thinwire(*words).stdout

    fixed, coded = (run(thinwire, pictures, "trace-b", coding)["memory"] for coding in ("fixed", "entropy"))
    assert coded["codebooks_bytes"] - fixed["codebooks_bytes"] == info["storage"]["index_tables_bytes"]
    assert coded["held_bytes"] == coded["activations_bytes"]


BAD = {
    "random codebooks": (("--strategy", "trace-b"), ("--index-coding=entropy", "random", "codebook train")),
    "no indices": (("--strategy", "voltage"), ("--index-coding=entropy", "astra", "trace")),
    "unknown": (("--strategy", "trace-b", "--index-coding", "entropic"), ("entropic", "entropy")),
}


@pytest.mark.parametrize("options, words", BAD.values(), ids=BAD)
def test_bad_input_is_one_line(thinwire, options, words):
    given = () if "--index-coding" in options else ("--index-coding", "entropy")
    done = thinwire("run", "--model", MODELS / "vit-tiny", "--devices", "2", *options, *given)

    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    for word in words:
        assert word in done.stderr
