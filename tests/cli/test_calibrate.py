"""calibrate: a profile of its schema, for people and for `plan`; bad input."""

import json

import jsonschema
import pytest
from places import SCHEMA
from test_cli_bad_input import assert_refused

FAST = ("--iterations", "3", "--warmup", "1")
PROFILE_SCHEMA = SCHEMA.with_name("thinwire.profile-1.schema.json")


@pytest.fixture
def calibrate(thinwire, vit_tiny):
    def run(*arguments):
        return thinwire("calibrate", "--model", vit_tiny, *FAST, *arguments)

    return run


def profile_in(thinwire, name="device.json"):
    profile = json.loads((thinwire.folder / name).read_text(encoding="utf-8"))
    jsonschema.validate(profile, json.loads(PROFILE_SCHEMA.read_text(encoding="utf-8")))
    return profile


def test_a_device_alone_has_a_profile_without_a_link(thinwire, calibrate):
    done = calibrate("--rows", "1,4,17", "--threads", "2", "--json", "device.json")

    assert done.returncode == 0, done.stderr
    profile = profile_in(thinwire)
    assert profile["device"]["model"] == "vit-tiny"
    assert profile["device"]["threads"] == 2
    assert [rate["rows"] for rate in profile["device"]["gflops_by_rows"]] == [1, 4, 17]
    for rate in profile["device"]["gflops_by_rows"]:
        assert rate["gflops_p10"] <= rate["gflops"] <= rate["gflops_p90"]
    assert profile["link"] is None
    assert thinwire.files() == ["device.json"]
    for text in ("vit-tiny on 2 threads", "GFLOP/s", "17"):
        assert text in done.stdout


@pytest.mark.parametrize("clock", ["throttled", "native"])
def test_several_devices_have_a_link(clock, thinwire, calibrate):
    done = calibrate(
        "--devices", "2", "--clock", clock, "--rate", "20Mbps", "--sizes", "1kB,20kB,60kB",
        "--json", "device.json",
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    link = profile_in(thinwire)["link"]
    assert link["topology"] == "unicast"
    assert "fit:" in done.stdout


def test_the_profile_can_go_to_stdout_alone(calibrate):
    done = calibrate("--json", "-")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["schema"] == "thinwire.profile/1"


def test_a_profile_replaces_an_older_one(thinwire, calibrate):
    (thinwire.folder / "device.json").write_text("{}", encoding="utf-8")

    assert calibrate("--rows", "2", "--json", "device.json").returncode == 0

    assert profile_in(thinwire)["device"]["gflops_by_rows"][0]["rows"] == 2


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        (("--rows", "18"), ("--rows", "18", "17")),
        (("--rows", "0"), ("--rows", "0", "1 to 17")),
        (("--rows", "few"), ("--rows", "few", "number")),
        (("--threads", "0"), ("--threads", "0")),
        (("--sizes", "1kB"), ("--sizes", "--devices")),
        (("--devices", "0"), ("--devices", "0")),
        (("--devices", "2", "--clock", "emulated"), ("--clock", "emulated", "native")),
        (("--devices", "2", "--rate", "1Mbps,2Mbps"), ("2 link settings", "one")),
        (("--devices", "2", "--sizes", "5"), ("--sizes", "5", "unit")),
        (("--json", "/nowhere/at/all.json"), ("--json", "/nowhere/at/all.json")),
        (("--json", "/dev/null"), ("--json", "/dev/null", "regular file")),
    ],
)
def test_bad_input_is_one_line(arguments, fragments, thinwire, calibrate):
    assert_refused(calibrate(*arguments), *fragments)
    assert thinwire.files() == []


def test_an_unknown_model_is_refused(thinwire):
    assert_refused(thinwire("calibrate", "--model", "vit-bse-16"), "vit-bse-16", "vit-base-16")
