"""What `cmake --install` installs serves a program outside the tree: examples/own-strategy."""

import json
import subprocess

import pytest
from places import BINARY, MODELS, REPOSITORY

BUILD = BINARY.parents[2]
EXAMPLE = REPOSITORY / "examples" / "own-strategy"
TIMEOUT_S = 500


def run(*command, cwd=None):
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )


def succeed(*command, cwd=None):
    done = run(*command, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    if not (BUILD / "cmake_install.cmake").exists():
        pytest.fail(f"{BUILD} is no build folder: build the release preset or set THINWIRE")
    prefix = tmp_path_factory.mktemp("prefix")
    succeed("cmake", "--install", BUILD, "--prefix", prefix)
    return prefix


@pytest.fixture(scope="session")
def own_strategy(prefix, tmp_path_factory):
    build = tmp_path_factory.mktemp("build")
    succeed("cmake", "-S", EXAMPLE, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
    succeed("cmake", "--build", build)
    return build / "own_strategy"


def records(program, folder, *options):
    """Of a sweep over the devices that must succeed."""
    succeed(program, "sweep", *options, "--iterations", "1", "--json", "result.jsonl", cwd=folder)
    lines = (folder / "result.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_the_installed_program_runs(prefix, tmp_path):
    shown = succeed(prefix / "bin" / "thinwire", "--version")

    assert shown.startswith("thinwire ")
    assert list((prefix / "include" / "thinwire").rglob("exchange.hpp"))


def test_nothing_installed_points_into_the_tree(prefix):
    for file in prefix.rglob("*.cmake"):
        assert str(REPOSITORY) not in file.read_text(encoding="utf-8"), file


@pytest.mark.parametrize("model", ["vit-tiny", "bert-tiny", "gpt2-tiny"])
def test_the_strategy_counts_what_it_predicts(own_strategy, tmp_path, model):
    options = ("--model", MODELS / model, "--devices", "1,2,3", "--rate", "100Mbps")

    found = records(own_strategy, tmp_path, *options, "--strategy", "halfrate")

    assert [record["spec"]["devices"] for record in found] == [1, 2, 3]
    for record in found:
        assert record["spec"]["strategy"] == "halfrate"
        assert record["checks"]["counted_equals_predicted"] is True


def test_it_sends_every_second_row(own_strategy, tmp_path):
    options = ("--model", MODELS / "vit-tiny", "--devices", "2", "--strategy", "voltage,halfrate")

    voltage, halfrate = records(own_strategy, tmp_path, *options)

    def bits(record):
        return record["traffic"]["per_device"]["payload_bits"]

    rows = [bits // (32 * 48 * 3) for bits in bits(voltage)]  # width 48, 3 exchanges
    assert sum(rows) == 17
    assert bits(halfrate) == [(n + 1) // 2 * 32 * 48 * 3 for n in rows]


def test_all_commands_know_it(own_strategy):
    assert "every second row exchanged" in succeed(own_strategy, "list")
    assert "halfrate on 100 devices" in succeed(
        own_strategy, "predict", "--strategy", "halfrate", "--devices", "100"
    )
    misspelt = run(own_strategy, "run", "--strategy", "halfrat")
    assert misspelt.returncode == 2
    assert "did you mean halfrate?" in misspelt.stderr


def test_an_absent_version_is_refused(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(too_new LANGUAGES CXX)\n"
        "find_package(thinwire 99 REQUIRED)\n",
        encoding="utf-8",
    )

    done = run(
        "cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}"
    )

    assert done.returncode != 0
    assert 'compatible with requested version "99"' in done.stderr
