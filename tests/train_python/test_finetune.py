"""finetune.py as a program: what it writes gives in thinwire what it gave in PyTorch."""

import json
import sys

import pytest
import torch
from tiny import TRAIN, call, relative_difference, tiny_model
from places import MODELS
from safetensors.torch import load_file, save_file
from thinwire_train.checkpoint import read_checkpoint
from thinwire_train.codebook_file import read_codebooks
from thinwire_train.data import open_data
from thinwire_train.prism import Prism
from thinwire_train.trace import CodebookStrategy

METHODS = ("prism", "trace-b", "trace-nb", "astra")


def words_of(method, devices):
    words = ["--method", method, "--devices", devices]
    return words + (["--segments", 2] if method == "prism" else ["--codewords", 8])


def train_words(name, data_files, out, method="trace-b", devices=2, **more):
    words = ["--model", MODELS / name, "--data", data_files[name], "--out", out,
             *words_of(method, devices)]
    given = {"batch": 8, "rate": 1e-3, **more}
    if name == "gpt2-tiny":
        given["window"] = 23
    for option, value in given.items():
        words += [f"--{option.replace('_', '-')}", value]
    return words


def finetuned_logits(name, folder, data_files, method, devices, indices):
    """In PyTorch, of the first samples of the training data."""
    checkpoint = read_checkpoint(folder)
    checkpoint.model.eval()
    strategy = Prism(devices, 2)
    if method != "prism":
        file = folder / "codebooks.safetensors"
        books = read_codebooks(file, method, checkpoint.config, update="none")
        strategy = CodebookStrategy(method, devices, books).eval()
    batch, _ = open_data(data_files[name], checkpoint.config, folder, window=23).batch(indices)
    with torch.no_grad():
        return checkpoint.model(batch, strategy)


@pytest.mark.parametrize("devices, method, update", [
    (2, "prism", "ema"), (3, "trace-b", "ema"), (2, "trace-nb", "gradient"), (3, "astra", "ema"),
])
def test_outputs_load_in_thinwire_with_the_same_logits(
    tiny, devices, method, update, data_files, tmp_path, finetune, thinwire_outputs
):
    out = tmp_path / "tuned"
    done = finetune(*train_words(tiny, data_files, out, method, devices, steps=4, update=update,
                                 distill=0.5))
    assert done.returncode == 0, done.stderr
    assert "4 steps" in done.stdout

    words = ["--strategy", method, "--devices", devices]
    words += ["--segments", 2] if method == "prism" else [
        "--codebook", out / "codebooks.safetensors"]
    words += ["--buffers", "off"] if method == "trace-b" else []
    words += ["--tokens", 23] if tiny == "gpt2-tiny" else []
    ours = finetuned_logits(tiny, out, data_files, method, devices, torch.tensor([1]))[0]
    if tiny == "gpt2-tiny":  # thinwire's windows of bytes are for vocabularies of bytes
        ids = load_file(data_files[tiny])["train"][23:46].to(torch.int32)
        save_file({"input": ids}, tmp_path / "one.safetensors")
        words += ["--input", tmp_path / "one.safetensors"]
    else:
        words += ["--input", data_files[tiny], "--sample", 1]
    theirs = thinwire_outputs("--model", out, *words)["logits"]

    assert relative_difference(ours, theirs) < 1e-4
    assert not torch.equal(ours, tiny_logits(tiny, data_files))


def tiny_logits(name, data_files):
    batch, _ = open_data(data_files[name], tiny_model(name).config, window=23).batch(
        torch.tensor([1]))
    with torch.no_grad():
        return tiny_model(name).model(batch)[0]


def test_the_codebooks_of_thinwire_are_a_beginning(data_files, tmp_path, finetune):
    first = tmp_path / "first.safetensors"
    books = {f"codebook.{layer}": torch.randn(6, 48) for layer in range(3)}
    save_file(books, first)

    done = finetune("--model", MODELS / "vit-tiny", "--data", data_files["vit-tiny"], "--out",
                    tmp_path / "tuned", "--method", "trace-b", "--devices", 2, "--codebook", first,
                    "--freeze-backbone", "--steps", 1)

    assert done.returncode == 0, done.stderr
    written = load_file(tmp_path / "tuned" / "codebooks.safetensors")
    assert {name for name in written if "codebook" in name} == books.keys()
    assert written["hierarchy.levels"].tolist() == [2, 4, 6]
    assert not torch.equal(written["codebook.1"], books["codebook.1"])
    # The backbone was frozen.
    for name, tensor in load_file(MODELS / "vit-tiny" / "model.safetensors").items():
        assert torch.equal(load_file(tmp_path / "tuned" / "model.safetensors")[name], tensor)


def test_a_session_that_ran_out_of_time_is_resumed(data_files, tmp_path, finetune):
    """Two sessions give what one gives, bit for bit."""
    whole = finetune(*train_words("vit-tiny", data_files, tmp_path / "whole", steps=30))
    assert whole.returncode == 0, whole.stderr
    words = train_words("vit-tiny", data_files, tmp_path / "parts", steps=30)
    words += ["--score", data_files["vit-tiny"]]

    first = finetune(*words, "--minutes", 0.0001)
    assert "go on with --resume" in first.stdout
    second = finetune(*words, "--resume")
    assert second.returncode == 0, second.stderr
    third = finetune(*words, "--minutes", 9, "--resume")

    assert "complete, nothing to do" in third.stdout
    summary = json.loads((tmp_path / "parts" / "finetune.json").read_text(encoding="utf-8"))
    assert summary["result"]["is_complete"]
    assert {"trace-b, before", "trace-b, after"} <= summary["scores"].keys()
    for name in ("model.safetensors", "codebooks.safetensors"):
        ours = load_file(tmp_path / "parts" / name)
        for tensor, theirs in load_file(tmp_path / "whole" / name).items():
            assert torch.equal(ours[tensor], theirs), tensor


def test_scores_are_shown_and_kept(data_files, tmp_path, finetune):
    words = train_words("vit-tiny", data_files, tmp_path / "tuned", "prism", steps=0)

    done = finetune(*words, "--score", data_files["vit-tiny"], "--score-samples", 10)

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("of 10 samples") == 4
    summary = json.loads((tmp_path / "tuned" / "finetune.json").read_text(encoding="utf-8"))
    scores = summary["scores"]
    assert scores["prism, before"] == scores["prism, after"]  # no step was made
    assert scores["single, before"]["metric"] == "accuracy"


def test_the_program_ends_with_the_status_of_bad_input(tmp_path):
    done = call([sys.executable, TRAIN / "finetune.py", "--model", "nowhere", "--data", "none",
                 "--method", "prism", "--devices", 2, "--out", "tuned"], tmp_path)

    assert done.returncode == 2
    assert done.stderr.startswith("error: --model=nowhere: config.json is missing")


@pytest.mark.parametrize(
    "change, complaint",
    [
        ({"--method": "voltage"}, "--method=voltage"),
        ({"--devices": 1}, "--devices=1 (at least 2"),
        ({"--devices": 40}, "--devices=40 cannot share 17 tokens"),
        ({"--codewords": 1}, "--codewords=1"),
        ({"--codebook": "none.safetensors"}, "--codebook=none.safetensors: cannot be read"),
        ({"--segments": 2}, "--segments has no meaning for --method=trace-b"),
        ({"--groups": 2}, "--groups has no meaning"),
        ({"--data": "none.safetensors"}, "--data=none.safetensors: cannot be read"),
        ({"--model": "nowhere"}, "--model=nowhere: config.json is missing"),
        ({"--steps": -1}, "-1 (a whole number, 0 or more, is right)"),
        ({"--minutes": "0"}, "0 (a number above 0 is right)"),
        ({"--rate": "fast"}, "fast (a number above 0 is right)"),
    ],
)
def test_bad_usage_is_one_clear_line(change, complaint, data_files, tmp_path, finetune):
    given = {"--model": MODELS / "vit-tiny", "--data": data_files["vit-tiny"], "--out": "tuned",
             "--method": "trace-b", "--devices": 2, "--codewords": 8, "--steps": 1}

    done = finetune(*[word for option in {**given, **change}.items() for word in option])

    assert done.returncode == 2
    assert complaint in done.stderr.splitlines()[-1]
