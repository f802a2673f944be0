"""`run --agreement on`: how far a strategy is from the single device, without labels."""

import jsonschema
import pytest
from places import MODELS

FAST = ("--iterations", "1", "--warmup", "0")
PRISM = ("--strategy", "prism", "--devices", "2", "--segments", "2")
EXACT = {
    "single": (),
    "voltage": ("--strategy", "voltage", "--devices", "3"),
    "tensor": ("--strategy", "tensor", "--devices", "2"),
    "pipeline": ("--strategy", "pipeline", "--devices", "2", "--micro-batches", "3"),
    "a terminal": ("--strategy", "voltage", "--devices", "2", "--io", "terminal"),
    "one device": ("--strategy", "trace-b"),
}


def agreement_of(record):
    return record["checks"]["agreement"]


def test_nothing_is_compared_unless_asked_for(thinwire, vit_tiny):
    (record,) = thinwire.records("run", "--model", vit_tiny, *PRISM, *FAST)

    assert agreement_of(record) is None


@pytest.mark.parametrize("model", ("vit-tiny", "bert-tiny", "gpt2-tiny", "vivit-tiny"))
@pytest.mark.parametrize("options", EXACT.values(), ids=EXACT)
def test_exact_strategies_are_found_exact(model, options, thinwire, schema):
    (record,) = thinwire.records(
        "run", "--model", MODELS / model, *options, *FAST, "--agreement", "on"
    )

    jsonschema.Draft202012Validator(schema).validate(record)
    agreement = agreement_of(record)
    assert agreement["exact"] is True and agreement["broken"] == []
    assert agreement["top1"] == 1
    assert 0 <= agreement["kl_divergence"] < 1e-8
    assert agreement["output_cosine"] == pytest.approx(1, abs=1e-6)
    assert agreement["hidden_cosine"] == [pytest.approx(1, abs=1e-6)] * 4
    assert agreement["largest_relative_difference"] < 1e-4


def test_compression_shows_layer_by_layer(thinwire, vit_tiny, schema):
    done = thinwire(
        "run", "--model", vit_tiny, *PRISM, *FAST, "--agreement", "on", "--json", "out.jsonl"
    )

    assert done.returncode == 0, done.stderr
    (record,) = thinwire.read("out.jsonl")
    jsonschema.Draft202012Validator(schema).validate(record)
    agreement = agreement_of(record)
    assert agreement["exact"] is None
    assert agreement["kl_divergence"] > 0
    first, *others = agreement["hidden_cosine"]
    assert first == pytest.approx(1)  # every device embeds its own rows
    assert len(others) == 3 and all(0 < cosine < 0.99999 for cosine in others)
    for word in ("agreement", "KL divergence", "cosines, embedding first: 1.0000"):
        assert word in done.stdout
    assert "exact" not in done.stdout


def test_a_segment_a_token_is_exact(thinwire):
    done = thinwire(
        "run", "--model", MODELS / "gpt2-tiny", "--tokens", "12", "--strategy", "prism",
        "--devices", "3", "--segments", "4", *FAST, "--agreement", "on",
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "exact, as it has to be" in done.stdout
    assert "top-1 same in 100.00 % of rows" in done.stdout


def test_random_codebooks_say_so(thinwire, vit_tiny):
    done = thinwire(
        "run", "--model", vit_tiny, "--strategy", "trace-b", "--devices", "2", "--codewords", "8",
        *FAST, "--agreement", "on",
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "random codebooks" in done.stdout


def test_a_sweep_compares_too(thinwire, vit_tiny, write_document):
    document = write_document(
        {
            "name": "agreement",
            "base": {"model": str(vit_tiny), "iterations": 1, "warmup": 0, "agreement": True},
            "points": [
                {"strategy": "prism", "devices": 2, "segments": segments} for segments in (1, 8)
            ],
        }
    )

    coarse, fine = thinwire.records("sweep", document)

    def last(record):
        return agreement_of(record)["hidden_cosine"][-1]

    assert last(coarse) < last(fine) < 1


def test_a_prediction_compares_nothing(thinwire, vit_tiny):
    (record,) = thinwire.records("predict", "--model", vit_tiny, *PRISM, "--agreement", "on")

    assert agreement_of(record) is None
    assert record["spec"]["agreement"] is True


def test_kept_outputs_are_compared(thinwire, vit_tiny):
    (record,) = thinwire.records(
        "run", "--model", vit_tiny, *PRISM, *FAST, "--outputs", "out.safetensors"
    )

    assert agreement_of(record)["top1"] in (0, 1)
