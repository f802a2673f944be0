"""--level=adaptive and probing: levels chosen for every message, in runs and evaluations."""

import data_files
import jsonschema
import pytest

RANDOM = ["--strategy", "trace-b", "--devices", "2", "--codewords", "64"]
MODELLED = ["--clock", "modelled", "--device-gflops", "0.1", "--iterations", "3", "--warmup", "1"]
LEVELS = [2, 4, 8, 32, 64]
FINEST_BITS = 6


@pytest.fixture
def run(thinwire, vit_tiny, schema):
    """Records of a command on vit-tiny, which satisfy the schema."""

    def records(command, *options):
        found = thinwire.records(command, "--model", vit_tiny, *RANDOM, *options)
        (thinwire.folder / "result.jsonl").unlink()
        for record in found:
            jsonschema.Draft202012Validator(schema).validate(record)
            assert record["status"] == "ok"
            assert record["checks"]["counted_equals_predicted"] is True
        return found

    return records


def payload_bits(record):
    return record["traffic"]["per_device"]["payload_bits"]


@pytest.mark.parametrize("control", ["adaptive", "probing"])
def test_a_fast_link_gets_the_finest_level(run, control):
    (finest,) = run("run", *MODELLED)
    (chosen,) = run("run", *MODELLED, "--level", control)

    assert payload_bits(chosen) == payload_bits(finest)
    assert chosen["spec"]["level"] == control
    assert chosen["spec"]["active-codewords"] is None
    assert chosen["codebook"]["levels"] == LEVELS
    frames = chosen["codebook"]["frames_by_level"]
    assert frames[:-1] == [0] * 4 and frames[-1] > 0
    assert chosen["codebook"]["mean_index_bits"] == FINEST_BITS
    assert "frames_by_level" not in finest["codebook"]
    assert chosen["time"]["links"][0]["latency_s"] == finest["time"]["links"][0]["latency_s"]


def test_a_slow_link_gets_coarse_levels_and_is_faster_than_the_finest(run):
    slow = [*MODELLED, "--rate", "10kbps"]
    (finest,) = run("run", *slow)
    (coarsest,) = run("run", *slow, "--level", "0")
    (chosen,) = run("run", *slow, "--level", "adaptive")

    assert payload_bits(coarsest) <= payload_bits(chosen) < payload_bits(finest)
    assert chosen["codebook"]["mean_index_bits"] < 2
    means = [r["time"]["links"][0]["latency_s"]["mean"] for r in (coarsest, chosen, finest)]
    assert means == sorted(means)


def test_runs_with_chosen_levels_repeat_themselves(run):
    options = [*MODELLED, "--rate", "200kbps", "--slowness", "1,3", "--level", "adaptive"]
    first, second = run("run", *options)[0], run("run", *options)[0]

    for record in (first, second):
        assert sum(record["codebook"]["frames_by_level"]) > 0
    for section in ("traffic", "codebook"):
        first[section].pop("calibration_s", None), second[section].pop("calibration_s", None)
        assert first[section] == second[section]
    assert first["time"]["links"][0]["latency_s"] == second["time"]["links"][0]["latency_s"]


def test_a_terminal_sends_the_first_exchange_at_the_finest_level(run):
    (chosen,) = run("run", *MODELLED, "--rate", "10kbps", "--level", "adaptive", "--io", "terminal")
    assert chosen["codebook"]["mean_index_bits"] < FINEST_BITS


def test_a_sweep_has_a_point_for_each_link(run):
    records = run("sweep", *MODELLED, "--rate", "10kbps,100Mbps", "--level", "adaptive,1")

    assert [len(record["time"]["links"]) for record in records] == [1, 1, 2]
    assert all("shared_execution" not in record["time"] for record in records)
    assert payload_bits(records[0]) < payload_bits(records[1])


@pytest.mark.parametrize("clock", ["emulated", "native", "throttled"])
def test_measured_clocks_choose_levels_too(run, clock):
    (record,) = run("run", "--clock", clock, "--rate", "1Mbps", "--level", "adaptive",
                    "--iterations", "3")  # fmt: skip
    assert sum(record["codebook"]["frames_by_level"]) > 0


def test_an_evaluation_models_time(run, tmp_path):
    data = data_files.pictures(tmp_path / "pictures.safetensors", samples=5)
    trace = tmp_path / "trace.csv"
    trace.write_text("0 s, 5kbps\n1 s, 100kbps\n2 s, 1kbps\n")
    timed = ["--data", data, "--rate-trace", trace, "--device-gflops", "0.1"]
    fixed = run("eval", *timed, "--level", "0,4")
    (chosen,) = run("eval", *timed, "--level", "adaptive")

    for record in [*fixed, chosen]:
        assert record["spec"]["clock"] == "modelled"
        assert len(record["time"]["links"][0]["latency_s"]["samples"]) == 5
        assert record["time"]["links"][0]["link"]["rate_trace"]["file"] == "trace.csv"
    means = [r["time"]["links"][0]["latency_s"]["mean"] for r in (fixed[0], chosen, fixed[1])]
    assert means == sorted(means)
    assert 1 < chosen["codebook"]["mean_index_bits"] < FINEST_BITS


def test_a_timed_evaluation_does_not_depend_on_the_number_of_ranks(thinwire, vit_tiny, tmp_path):
    data = data_files.pictures(tmp_path / "pictures.safetensors", samples=4)
    options = ["--model", vit_tiny, *RANDOM, "--data", data, "--level", "adaptive", "--rate",
               "50kbps", "--device-gflops", "0.1", "--json", "ranks.jsonl"]  # fmt: skip
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    found = []
    for ranks in ("1", "2"):
        prefix = ("mpirun", "--oversubscribe", "--bind-to", "none", "-n", ranks)
        done = thinwire("eval", *options, prefix=prefix, environment=as_root)
        assert done.returncode == 0, done.stderr
        found += thinwire.read("ranks.jsonl")
        (thinwire.folder / "ranks.jsonl").unlink()

    one, two = found
    for record in found:
        record["accuracy"].pop("wall_s")
    assert one["accuracy"] == two["accuracy"]
    assert one["codebook"]["frames_by_level"] == two["codebook"]["frames_by_level"]
    assert one["time"]["links"] == two["time"]["links"]


@pytest.mark.parametrize(
    "command, options, words",
    [
        ("run", ["--rate", "1Mbps,2Mbps", "--level", "adaptive"], ["2 link settings", "sweep"]),
        ("run", ["--strategy", "astra", "--level", "adaptive"], ["--strategy=astra"]),
        ("run", ["--active-codewords", "2", "--level", "probing"], ["--active-codewords=2"]),
        ("run", ["--level", "adaptve"], ["--level=adaptve"]),
        ("run", ["--index-coding", "cross-layer", "--codebook", "some.file", "--loss", "5%",
                 "--on-loss", "reuse", "--buffers", "off"],
         ["--index-coding=cross-layer with --on-loss=reuse", "--index-coding=entropy"]),
        ("predict", ["--level", "adaptive"], ["--level=adaptive with predict", "0..4"]),
        ("plan", ["--level", "probing", "--device-gflops", "1"], ["--level=probing", "formula"]),
    ],
)
def test_bad_input_is_one_line(thinwire, vit_tiny, command, options, words):
    given = ["--model", vit_tiny, *(RANDOM if command != "plan" else ["--devices", "2"]), *options]
    done = thinwire(command, *given)

    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert all(word in done.stderr for word in words), done.stderr


def test_an_evaluation_without_device_rates_says_so(thinwire, vit_tiny, tmp_path):
    data = data_files.pictures(tmp_path / "pictures.safetensors", samples=2)
    done = thinwire("eval", "--model", vit_tiny, *RANDOM, "--data", data, "--level", "adaptive")

    assert done.returncode == 2
    assert "--device-gflops" in done.stderr
