"""The simulated devices give the golden logits, and thinwire's, of every method."""

import json

import pytest
import torch
from tiny import TINY, golden_batch, golden_tensors, relative_difference, tiny_model
from places import GOLDEN, MODELS
from safetensors.torch import save_file
from thinwire_train.codebook_file import read_codebooks
from thinwire_train.errors import InputError
from thinwire_train.prism import Prism
from thinwire_train.trace import PASSES, CodebookStrategy

METHODS = ("prism", "trace-b", "trace-nb", "astra")


def strategy_of(run, name, tokens):
    config = tiny_model(name).config
    if run["strategy"] == "prism":
        segments = run.get("segments") or tokens // (run["compression_rate"] * run["devices"])
        return Prism(run["devices"], segments, run.get("scaling", True))
    books = read_codebooks(
        GOLDEN / f"{name}.safetensors", run["strategy"], config, run.get("groups", 1), "none"
    )
    buffers = "fp16" if run.get("buffers", True) else "exact"
    return CodebookStrategy(run["strategy"], run["devices"], books, buffers=buffers).eval()


def golden_runs():
    """Those with all codewords: coarser levels are a matter of inference."""
    for name in TINY:
        for run in json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))["runs"]:
            if run["strategy"] in ("prism", *PASSES) and "level" not in run:
                yield pytest.param(name, run, id=f"{name}.{run['name']}")


@pytest.mark.parametrize("name, run", golden_runs())
def test_devices_give_the_golden_logits(name, run):
    tensors = golden_tensors(name)
    tokens = len(tensors["single.hidden.0"])

    with torch.no_grad():
        strategy = strategy_of(run, name, tokens)
        logits = tiny_model(name).model(golden_batch(name, tensors, run), strategy)[0]

    assert relative_difference(logits, tensors[f"{run['name']}.logits"]) < run["tolerance"]


@pytest.mark.parametrize("devices", (2, 3))
@pytest.mark.parametrize("method", METHODS)
def test_devices_give_the_logits_of_thinwire(tiny, method, devices, tmp_path, thinwire_outputs):
    tensors = golden_tensors(tiny)
    tokens = len(tensors["single.hidden.0"])
    run = {"strategy": method, "devices": devices, "segments": 2, "buffers": False}
    save_file({"input": tensors["input"]}, tmp_path / "input.safetensors")
    words = ["--strategy", method, "--devices", devices]
    if method == "prism":
        words += ["--segments", 2]
    else:
        words += ["--codebook", GOLDEN / f"{tiny}.safetensors"]
    if method == "trace-b":
        words += ["--buffers", "off"]

    theirs = thinwire_outputs(
        "--model", MODELS / tiny, "--input", tmp_path / "input.safetensors", *words)
    with torch.no_grad():
        strategy = strategy_of(run, tiny, tokens)
        ours = tiny_model(tiny).model(golden_batch(tiny, tensors), strategy)[0]

    assert relative_difference(ours, theirs["logits"]) < 1e-4


@pytest.mark.parametrize("method", ("trace-b", "trace-nb", "astra"))
def test_a_training_pass_has_the_values_of_an_evaluation(method):
    """Straight-through rows are codewords; without the drop nothing else differs."""
    tensors = golden_tensors("bert-tiny")
    run = {"strategy": method, "devices": 2, "buffers": False}
    strategy = strategy_of(run, "bert-tiny", 25)
    model, batch = tiny_model("bert-tiny").model, golden_batch("bert-tiny", tensors)

    with torch.no_grad():
        evaluated = model(batch, strategy.eval())
        trained = model(batch, strategy.train())

    assert relative_difference(trained, evaluated) < 1e-5


def test_gradients_pass_the_quantisers():
    """The class token is on device 0; what device 1 embedded reaches it through codewords alone."""
    tensors = golden_tensors("vit-tiny")
    strategy = strategy_of({"strategy": "astra", "devices": 2}, "vit-tiny", 17).train()
    model, batch = tiny_model("vit-tiny").model, golden_batch("vit-tiny", tensors)

    model(batch, strategy).square().sum().backward()

    of_positions = model.embedding.positions.grad[0]
    assert float(of_positions[9:].abs().max()) > 0


def test_dropping_every_exact_column_but_ones_own_changes_training_alone():
    tensors = golden_tensors("gpt2-tiny")
    model, batch = tiny_model("gpt2-tiny").model, golden_batch("gpt2-tiny", tensors)
    strategy = strategy_of({"strategy": "trace-nb", "devices": 2}, "gpt2-tiny", 23)
    strategy.local_drop = 0.9
    strategy.generator = torch.Generator().manual_seed(0)

    with torch.no_grad():
        evaluated = model(batch, strategy.eval())
        trained = model(batch, strategy.train())

    assert bool(trained.isfinite().all())  # the first token of all sees itself
    assert relative_difference(trained, evaluated) > 1e-3
    assert relative_difference(evaluated[0], tensors["trace-nb.p2.logits"]) < 1e-4


def test_partitions_that_cannot_be_are_named():
    tensors = golden_tensors("vit-tiny")
    model, batch = tiny_model("vit-tiny").model, golden_batch("vit-tiny", tensors)

    with pytest.raises(InputError, match="--devices=18 cannot share 17 tokens"):
        model(batch, Prism(18, 1))
    with pytest.raises(InputError, match="--segments=6 of a partition of 5 tokens"):
        model(batch, Prism(3, 6))
