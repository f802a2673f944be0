"""--level=adaptive and probing with --index-coding, and on links that drop packets."""

import subprocess

import data_files
import jsonschema
import pytest
from places import BINARY

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
CODINGS = ("entropy", "cross-layer")
CONTROLS = ("adaptive", "probing")
STRATEGY = ["--strategy", "trace-b", "--devices", "2"]
MODELLED = ["--clock", "modelled", "--device-gflops", "0.1", "--iterations", "3", "--warmup", "1"]
LEVELS = [2, 4, 8, 32]


@pytest.fixture(scope="module")
def trained(tmp_path_factory, vit_tiny):
    """Codebooks with tables, and the pictures that they are made from."""
    folder = tmp_path_factory.mktemp("trained")
    pictures = data_files.pictures(folder / "pictures.safetensors", samples=24)
    train = [BINARY, "codebook", "train", "--model", vit_tiny, "--input", pictures, "--samples", "0..19",
             *STRATEGY, "--codewords", "32", "--batch", "8",
             "--out", folder / "codebooks.safetensors"]  # fmt: skip
    done = subprocess.run(train, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return {"codebook": folder / "codebooks.safetensors", "pictures": pictures}


@pytest.fixture
def record(thinwire, vit_tiny, trained, schema):
    """The record of a command with those codebooks, which satisfies the schema."""

    def of(command, *options, prefix=()):
        name = f"{len(thinwire.files())}.jsonl"
        done = thinwire(command, "--model", vit_tiny, *STRATEGY, "--codebook", trained["codebook"], *options,
                        "--json", name, prefix=prefix, environment=AS_ROOT)  # fmt: skip
        assert done.returncode == 0, done.stderr
        (found,) = thinwire.read(name)
        jsonschema.Draft202012Validator(schema).validate(found)
        assert found["status"] == "ok"
        assert found["checks"]["counted_equals_predicted"] is True
        return found

    return of


def sent_bits(found):
    return 8 * sum(found["traffic"]["per_device"]["wire_bytes"])


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("control", CONTROLS)
def test_a_fast_link_gets_the_finest_level(record, control, coding):
    finest = record("run", *MODELLED, "--index-coding", coding)
    chosen = record("run", *MODELLED, "--index-coding", coding, "--level", control)

    assert sent_bits(chosen) == sent_bits(finest)
    assert chosen["codebook"]["levels"] == LEVELS
    frames = chosen["codebook"]["frames_by_level"]
    assert frames[:-1] == [0] * 3 and frames[-1] > 0
    bits = chosen["traffic"]["index_coding"]
    assert bits == finest["traffic"]["index_coding"]
    assert bits["counted_bits"] <= bits["worst_case_bits"]


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("control", CONTROLS)
def test_a_slow_link_gets_coarse_levels(record, control, coding):
    slow = [*MODELLED, "--rate", "2kbps", "--latency", "1ms", "--index-coding", coding]
    finest = record("run", *slow)
    chosen = record("run", *slow, "--level", control)

    assert sent_bits(chosen) < sent_bits(finest)
    assert sum(chosen["codebook"]["frames_by_level"][:-1]) > 0


@pytest.mark.parametrize("clock", ["emulated", "native", "throttled"])
def test_measured_clocks_choose_coded_levels_too(record, clock):
    found = record("run", "--clock", clock, "--rate", "1Mbps", "--level", "adaptive",
                   "--index-coding", "cross-layer", "--iterations", "3")  # fmt: skip
    assert sum(found["codebook"]["frames_by_level"]) > 0


def test_a_terminal_sends_the_first_exchange_fixed(record):
    found = record("run", *MODELLED, "--rate", "10kbps", "--level", "adaptive",
                   "--index-coding", "cross-layer", "--io", "terminal")  # fmt: skip
    assert sum(found["codebook"]["frames_by_level"]) > 0


DROPPING = ["--loss", "20%", "--overhead", "1B/8B", "--seed", "5", "--buffers", "off"]


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("policy, coding", [("skip", "fixed"), ("reuse", "fixed"), ("skip", "entropy"),
                                            ("reuse", "entropy")])  # fmt: skip
def test_lost_packets_leave_a_level_to_choose(record, control, policy, coding):
    options = [*MODELLED, *DROPPING, "--on-loss", policy, "--rate", "20kbps", "--level", control,
               "--index-coding", coding]  # fmt: skip
    found, again = record("run", *options), record("run", *options)

    losses = found["traffic"]["losses"]
    assert 0 < losses["lost_packets"] < losses["packets"]
    assert 0 < losses["lost_rows_fraction"] < 1
    assert sum(found["codebook"]["frames_by_level"]) > 0
    assert again["traffic"] == found["traffic"]
    assert again["codebook"]["frames_by_level"] == found["codebook"]["frames_by_level"]


@pytest.mark.parametrize(
    "options",
    [
        ["--index-coding", "entropy"],
        ["--index-coding", "cross-layer"],
        [*DROPPING, "--on-loss", "skip"],
        [*DROPPING, "--on-loss", "reuse"],
        [*DROPPING, "--on-loss", "reuse", "--index-coding", "entropy"],
    ],
)
def test_a_timed_evaluation_does_not_depend_on_the_number_of_ranks(record, trained, options):
    found = [
        record("eval", "--data", trained["pictures"], "--samples", "16..23", "--level", "adaptive", "--rate",
               "20kbps", "--device-gflops", "0.1", *options,
               prefix=("mpirun", "--oversubscribe", "--bind-to", "none", "-n", ranks))
        for ranks in ("1", "2")
    ]  # fmt: skip

    one, two = found
    for each in found:
        each["accuracy"].pop("wall_s")
    assert one["accuracy"] == two["accuracy"]
    assert one["codebook"]["frames_by_level"] == two["codebook"]["frames_by_level"]
    assert one["traffic"] == two["traffic"]
    assert one["time"]["links"] == two["time"]["links"]
    if "--index-coding" in options:
        bits = one["accuracy"]["index_coding"]
        assert bits["mean_bits"] == one["accuracy"]["bits_per_inference"]


def test_a_sweep_of_levels_and_codings_has_every_point(thinwire, vit_tiny, trained):
    found = thinwire.records("eval", "--model", vit_tiny, *STRATEGY, "--codebook", trained["codebook"],
                             "--data", trained["pictures"], "--samples", "20..23", "--level", "adaptive,0",
                             "--index-coding", "fixed,cross-layer", "--rate", "20kbps",
                             "--device-gflops", "0.1")  # fmt: skip
    assert len(found) == 4
    assert all(one["checks"]["counted_equals_predicted"] for one in found)


def test_people_are_told_what_was_chosen(thinwire, vit_tiny, trained):
    done = thinwire("run", "--model", vit_tiny, *STRATEGY, "--codebook", trained["codebook"], *MODELLED,
                    "--level", "adaptive", "--index-coding", "cross-layer")  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "level adaptive, 5 bits an index in the mean before coding" in done.stdout


@pytest.mark.parametrize("command", ["predict", "plan"])
def test_formulas_know_no_times(thinwire, vit_tiny, trained, command):
    given = [*STRATEGY, "--codebook", trained["codebook"], "--index-coding", "entropy"]
    if command == "plan":
        given = ["--devices", "2", "--device-gflops", "1"]
    done = thinwire(command, "--model", vit_tiny, *given, "--level", "adaptive")

    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "--level=adaptive" in done.stderr


def test_cross_layer_needs_what_came_before(thinwire, vit_tiny, trained):
    done = thinwire("run", "--model", vit_tiny, *STRATEGY, "--codebook", trained["codebook"], *DROPPING,
                    "--on-loss", "skip", "--index-coding", "cross-layer", "--level", "adaptive")  # fmt: skip

    assert done.returncode == 2
    assert "--index-coding=cross-layer with --on-loss=skip" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
