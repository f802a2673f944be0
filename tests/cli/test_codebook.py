"""`thinwire codebook`: training, resuming after a kill, what info shows, and bad input."""

import json
import math
import os
import random
import signal
import subprocess
import time

import pytest
from places import BINARY, MODELS

SAMPLES = 24
CODEWORDS = 16


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """A data file of random pictures in the size of vit-tiny."""
    file = tmp_path_factory.mktemp("data") / "pictures.safetensors"
    shape = [SAMPLES, 32, 32, 3]
    pixels = random.Random(1).randbytes(math.prod(shape))
    tensor = {"dtype": "U8", "shape": shape, "data_offsets": [0, len(pixels)]}
    header = json.dumps({"image": tensor}).encode()
    file.write_bytes(len(header).to_bytes(8, "little") + header + pixels)
    return file


def train_arguments(data, **options):
    given = {
        "model": MODELS / "vit-tiny",
        "input": data,
        "samples": f"0..{SAMPLES - 1}",
        "codewords": CODEWORDS,
        "batch": 4,
        "out": "codebooks.safetensors",
        **options,
    }
    words = ["codebook", "train"]
    for name, value in given.items():
        if value is not None:
            words += [f"--{name.replace('_', '-')}", value]
    return words


def test_trained_file_serves_a_run(thinwire, pictures):
    done = thinwire(*train_arguments(pictures))

    assert done.returncode == 0, done.stderr
    assert f"{SAMPLES * 17} tokens" in done.stdout
    assert thinwire.files() == ["codebooks.safetensors"]  # the state is gone
    (record,) = thinwire.records(
        "run", "--model", MODELS / "vit-tiny", "--input", pictures, "--strategy", "trace-b",
        "--devices", "2", "--codebook", "codebooks.safetensors", "--iterations", "1")
    assert record["status"] == "ok"


def test_two_trainings_give_the_same_file(thinwire, pictures):
    for name in ("one", "two"):
        done = thinwire(*train_arguments(pictures, out=f"{name}.safetensors"))
        assert done.returncode == 0, done.stderr

    one, two = (thinwire.folder / f"{name}.safetensors" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


def kill_when_the_state_is(thinwire, words, least_steps):
    """Starts a training and kills it as soon as its state has `least_steps` steps."""
    state = thinwire.folder / "codebooks.safetensors.state"
    process = subprocess.Popen(
        [str(BINARY), *map(str, words)], cwd=thinwire.folder,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < end:
            if state.exists() and steps_done(state) >= least_steps:
                break
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    return process.returncode


def steps_done(file):
    data = file.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return int(header["__metadata__"]["steps_done"])


def test_resumes_after_a_kill_as_if_nothing_had_happened(thinwire, pictures):
    whole = thinwire(*train_arguments(pictures, epochs=40, out="whole.safetensors"))
    assert whole.returncode == 0, whole.stderr
    words = train_arguments(pictures, epochs=40)

    assert kill_when_the_state_is(thinwire, words, least_steps=5) == -signal.SIGKILL
    assert "codebooks.safetensors" not in thinwire.files()
    assert steps_done(thinwire.folder / "codebooks.safetensors.state") >= 5
    resumed = thinwire(*words, "--resume")

    assert resumed.returncode == 0, resumed.stderr
    expected = (thinwire.folder / "whole.safetensors").read_bytes()
    assert (thinwire.folder / "codebooks.safetensors").read_bytes() == expected
    again = thinwire(*words, "--resume")
    assert again.returncode == 0 and "complete" in again.stdout


def test_ranks_share_the_samples(thinwire, pictures):
    environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    prefix = ("mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2")
    for name in ("one", "two"):
        done = thinwire(*train_arguments(pictures, out=f"{name}.safetensors"),
                        prefix=prefix, environment=environment)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count(f"{SAMPLES * 17} tokens") == 1

    one, two = (thinwire.folder / f"{name}.safetensors" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


def test_info_shows_storage_and_quality(thinwire, pictures):
    assert thinwire(*train_arguments(pictures)).returncode == 0
    words = ("codebook", "info", "codebooks.safetensors", "--model", MODELS / "vit-tiny")

    done = thinwire(*words, "--input", pictures, "--samples", "0..3", "--json")

    assert done.returncode == 0, done.stderr
    info = json.loads(done.stdout)
    assert info["levels"] == [2, 4, 8, 16]
    assert info["storage"]["codebooks_bytes"] == 3 * CODEWORDS * 48 * 4
    assert info["storage"]["buffers_bytes"] == 3 * CODEWORDS * 2 * 48 * 2  # 4 K D B
    assert info["metadata"]["samples"] == f"pictures.safetensors 0..{SAMPLES - 1}"
    assert len(info["quality"]) == 3 * 4
    for row in info["quality"]:
        assert 1 <= row["perplexity"] <= row["used"] + 1e-9 <= row["codewords"] + 1e-9
        assert row["rows"] == 4 * 17
    for_people = thinwire(*words)
    assert for_people.returncode == 0, for_people.stderr
    for word in ("3 codebooks", "2, 4, 8, 16", "buffers", "calibration", "trace-b"):
        assert word in for_people.stdout


def test_info_takes_the_golden_files(thinwire):
    golden = MODELS.parent / "vit-tiny.safetensors"

    done = thinwire("codebook", "info", golden, "--model", MODELS / "vit-tiny")

    assert done.returncode == 0, done.stderr


BAD_TRAINING = {
    "no model": ({"model": None}, ("--model", "needed")),
    "no samples": ({"samples": None}, ("--samples", "needed")),
    "samples beyond the file": ({"samples": "0..999"}, ("999", "24 pictures")),
    "samples backwards": ({"samples": "9..0"}, ("--samples=9..0", "0..999")),
    "too few tokens": ({"codewords": 512}, ("--codewords=512", "2048 tokens", "408", "102")),
    "one device": ({"devices": 1}, ("--devices=1", "two")),
    "devices in words": ({"devices": "two"}, ("--devices=two", "number")),
    "strategy without codebooks": ({"strategy": "voltage"}, ("--strategy=voltage", "astra")),
    "unknown strategy": ({"strategy": "trace-bb"}, ("trace-bb", "trace-b")),
    "groups of trace": ({"groups": 2}, ("--groups=2", "astra")),
    "unknown update": ({"update": "emma"}, ("--update=emma", "ema")),
    "unknown hierarchy": ({"hierarchy": "euclid"}, ("--hierarchy=euclid", "euclidean")),
    "levels that do not end at K": ({"levels": "2,8"}, ("--levels=2,8", "16")),
    "place that cannot be written": ({"out": "no/such/place"}, ("no/such/place",)),
}


@pytest.mark.parametrize("name", BAD_TRAINING)
def test_bad_training_is_refused_with_the_reason(thinwire, pictures, name):
    options, words = BAD_TRAINING[name]

    done = thinwire(*train_arguments(pictures, **options))

    assert done.returncode == 2, done.stderr
    assert len(done.stderr.splitlines()) == 1
    for word in words:
        assert word in done.stderr
    assert thinwire.files() == []


def test_resuming_another_training_is_refused(thinwire, pictures):
    words = train_arguments(pictures, epochs=40)
    kill_when_the_state_is(thinwire, words, least_steps=1)

    done = thinwire(*train_arguments(pictures, epochs=40, seed=5), "--resume")

    assert done.returncode == 2
    for word in ("codebooks.safetensors.state", "seed", "0", "5"):
        assert word in done.stderr


def test_info_refuses_another_model(thinwire, pictures):
    assert thinwire(*train_arguments(pictures)).returncode == 0

    done = thinwire("codebook", "info", "codebooks.safetensors", "--model", MODELS / "bert-tiny")

    assert done.returncode == 2
    assert "fingerprint" in done.stderr


def test_help_explains_both_parts(thinwire):
    expected = {(): "info FILE", ("train",): "--codewords", ("info",): "--input"}
    for part, word in expected.items():
        done = thinwire("codebook", *part, "--help")
        assert done.returncode == 0 and word in done.stdout
    assert thinwire("codebook", "trian").returncode == 2
