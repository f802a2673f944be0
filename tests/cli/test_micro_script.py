"""experiments/micro/run.sh: a file that the analysis reads."""

import json
import subprocess

import pytest
from places import REPOSITORY

PROGRAM = REPOSITORY / "build/release/experiments/micro/thinwire_micro"


def run(*arguments):
    command = [REPOSITORY / "experiments/micro/run.sh", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.skipif(not PROGRAM.exists(), reason=f"{PROGRAM} is not built")
def test_writes_a_file_for_the_analysis(tmp_path):
    out = tmp_path / "micro.json"

    done = run("--quick", "--filter", "pack_indices|look_up", "--json", out)

    assert done.returncode == 0, done.stderr
    document = json.loads(out.read_text(encoding="utf-8"))
    assert document["schema"] == "thinwire.micro/1"
    assert {name.split("/")[0] for name in document["benchmarks"]} == {
        "pack_indices", "unpack_indices", "look_up_codewords",
    }  # fmt: skip
    packing = document["benchmarks"]["pack_indices/indices:99"]
    assert packing["repetitions"] == 3
    assert packing["p25_s"] <= packing["median_s"] <= packing["p75_s"]
    # SI: 99 indices of 4 bytes and a frame of 125, of 10 bits each behind a byte.
    assert packing["gb_per_s"] == pytest.approx(521e-9 / packing["median_s"], rel=0.01)
    assert int(document["context"]["threads"]) >= 1
    assert str(REPOSITORY) not in out.read_text(encoding="utf-8")
