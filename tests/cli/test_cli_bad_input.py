"""Bad input: one message that names option, value and reason, status 2, nothing written."""

import json
import os
import shutil

import pytest
from places import GOLDEN, MODELS

VIT = ("--model", "vit-base-16")

# name: (arguments of run, what the message must contain)
BAD_OPTIONS = {
    "more devices than tokens": (
        ("--model", "bert-base", "--tokens", "2", "--strategy", "voltage", "--devices", "3"),
        ("devices", "3", "2", "token"),
    ),
    "no segments": (
        (*VIT, "--strategy", "prism", "--devices", "2", "--segments", "0"),
        ("--segments", "0", "1"),
    ),
    "negative segments": (
        (*VIT, "--strategy", "prism", "--devices", "2", "--segments", "-4"),
        ("--segments", "-4"),
    ),
    "more segments than tokens of a device": (
        (*VIT, "--strategy", "prism", "--devices", "2", "--segments", "99"),
        ("segments", "99", "98"),
    ),
    "segments that are no number": (
        (*VIT, "--strategy", "prism", "--devices", "2", "--segments", "ten"),
        ("--segments", "ten", "number"),
    ),
    "segments and a compression rate": (
        (*VIT, "--strategy", "prism", "--devices", "2", "--segments", "10",
         "--compression-rate", "4"),
        ("segments", "compression-rate"),
    ),
    "prism without segments": (
        (*VIT, "--strategy", "prism", "--devices", "2"),
        ("--segments", "--compression-rate"),
    ),
    "unknown model": (("--model", "vit-bse-16"), ("--model", "vit-bse-16", "vit-base-16")),
    "unknown strategy": (
        (*VIT, "--strategy", "prysm", "--devices", "2"),
        ("--strategy", "prysm", "prism"),
    ),
    "unknown option": ((*VIT, "--segmets", "10"), ("segmets", "segments")),
    "unknown topology": (
        (*VIT, "--topology", "broadcats"),
        ("--topology", "broadcats", "broadcast"),
    ),
    "unknown clock": ((*VIT, "--clock", "emulatd"), ("--clock", "emulatd", "emulated")),
    "rate of zero": ((*VIT, "--rate", "0Mbps"), ("--rate", "0Mbps")),
    "negative rate": ((*VIT, "--rate", "-5Mbps"), ("--rate", "-5Mbps")),
    "rate without a unit": ((*VIT, "--rate", "10"), ("--rate", "10", "unit", "Mbps")),
    "latency without a unit": ((*VIT, "--latency", "2"), ("--latency", "2", "ms")),
    "no threads": ((*VIT, "--threads", "0"), ("--threads", "0", "at least one")),
    "more threads than any machine has": (
        (*VIT, "--threads", "100000"),
        ("--threads", "100000", "1024"),
    ),
    "more devices than anybody has": (
        ("--model", "bert-base", "--strategy", "voltage", "--devices", "2000000000"),
        ("--devices", "2000000000", "at most 10000"),
    ),
    "more tokens than fit anywhere": (
        ("--model", "bert-base", "--tokens", "99999999999999"),
        ("--tokens", "99999999999999", "at most"),
    ),
    "too many rates": (
        (*VIT, "--rate", "1Mbps..10Mbps:log:1000000"),
        ("--rate", "1000000", "2 to 100000"),
    ),
    "a sample of no file": ((*VIT, "--sample", "3"), ("--sample", "3", "--input")),
    "a switch followed by another word": ((*VIT, "--cold-weights", "maybe"), ("'maybe'",)),
    "one dash": ((*VIT, "-d", "2"), ("'-d'", "--")),
    "a timeline in a missing folder": (
        (*VIT, "--trace", "absent/trace.json"),
        ("--trace=absent/trace.json", "No such file"),
    ),
    "outputs in a missing folder": (
        (*VIT, "--devices", "2", "--outputs", "absent/out.safetensors"),
        ("--outputs=absent/out.safetensors", "No such file"),
    ),
    "outputs in the place of a folder": (
        (*VIT, "--devices", "2", "--outputs", "/"),
        ("--outputs=/", "folder"),
    ),
    "no devices": ((*VIT, "--devices", "0"), ("--devices", "0")),
    "no iterations": ((*VIT, "--iterations", "0"), ("--iterations", "0")),
    "modelled clock without a device's rate": (
        (*VIT, "--clock", "modelled"),
        ("--clock", "modelled", "--device-gflops"),
    ),
    "a codebook that is not there": (
        (*VIT, "--strategy", "trace-b", "--devices", "2", "--codebook", "absent.safetensors"),
        ("--codebook=absent.safetensors",),
    ),
    "a codebook of another model": (
        (*VIT, "--strategy", "trace-b", "--devices", "2",
         "--codebook", GOLDEN / "vit-tiny.safetensors"),
        ("vit-tiny.safetensors", "codebook"),
    ),
    "codewords that a codebook does not have": (
        ("--model", MODELS / "vit-tiny", "--strategy", "trace-b", "--devices", "2",
         "--codebook", GOLDEN / "vit-tiny.safetensors", "--codewords", "32"),
        ("--codewords=32", "16"),
    ),
    "a codebook without a use": (
        (*VIT, "--strategy", "voltage", "--devices", "2", "--codebook", "random"),
        ("--codebook=random", "--strategy=voltage", "astra and trace"),
    ),
    "a level that is not there": (
        (*VIT, "--strategy", "trace-b", "--devices", "2", "--level", "9"),
        ("--level=9", "4"),
    ),
    "groups that do not divide": (
        (*VIT, "--strategy", "astra", "--devices", "2", "--groups", "5"),
        ("--groups=5", "768"),
    ),
    "an unknown kind of buffers": (
        (*VIT, "--strategy", "trace-b", "--devices", "2", "--buffers", "kw"),
        ("--buffers=kw", "hidden"),
    ),
    "micro-batches without a pipeline": (
        (*VIT, "--strategy", "tensor", "--devices", "2", "--micro-batches", "4"),
        ("--micro-batches=4", "only pipeline"),
    ),
    "more devices than heads": (
        (*VIT, "--strategy", "tensor", "--devices", "13"),
        ("--devices=13", "12 heads"),
    ),
    "more stages than blocks": (
        (*VIT, "--strategy", "pipeline", "--devices", "13"),
        ("--devices=13", "12 blocks"),
    ),
    "a class token that a text model lacks": (
        ("--model", "bert-base", "--strategy", "astra", "--devices", "2",
         "--class-token", "replicated"),
        ("--class-token=replicated", "bert-base"),
    ),
    "collecting without a terminal": (
        ("--model", "gpt2", "--devices", "2", "--collect", "all"),
        ("--collect=all", "--io=terminal"),
    ),
    "input that is not there": (
        (*VIT, "--input", "absent.png"),
        ("absent.png",),
    ),
}  # fmt: skip


def assert_refused(done, *fragments):
    """Status 2, nothing on stdout, one short message with every fragment, no source location."""
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert done.stdout == ""
    for fragment in fragments:
        assert fragment.lower() in done.stderr.lower(), done.stderr
    assert ".cpp" not in done.stderr and "terminate called" not in done.stderr


@pytest.mark.parametrize("name", BAD_OPTIONS)
def test_run_refuses(name, thinwire):
    arguments, fragments = BAD_OPTIONS[name]

    done = thinwire("run", *arguments, "--json", "result.jsonl")

    assert_refused(done, *fragments)
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert thinwire.files() == []


@pytest.mark.parametrize("command", ["sweep", "predict"])
@pytest.mark.parametrize(
    "document, fragments",
    [
        ({"base": {"segmets": 10}, "points": [{}]}, ("segmets", "segments")),
        ({"base": {"model": "vit-bse-16"}, "points": [{}]}, ("vit-bse-16", "vit-base-16")),
        ({"base": {"strategy": "prysm"}, "points": [{}]}, ("prysm", "prism")),
        ({"bas": {"threads": 1}, "points": [{}]}, ("bas", "base")),
        ({"base": {"rate": "10"}, "points": [{}]}, ("rate", "10", "Mbps")),
        ({"base": {"threads": 0}, "points": [{}]}, ("threads", "0")),
    ],
    ids=["key", "model", "strategy", "section", "rate", "threads"],
)
def test_sweep_documents_are_checked_before_anything_runs(
    command, document, fragments, thinwire, write_document
):
    path = write_document({"name": "bad", **document})

    done = thinwire(command, path, "--json", "result.jsonl")

    assert_refused(done, *fragments)
    assert thinwire.files() == []


def test_run_refuses_a_result_file_in_a_missing_folder(thinwire, vit_tiny):
    done = thinwire("run", "--model", vit_tiny, "--devices", "2", "--json", "absent/result.jsonl")

    assert_refused(done, "--json=absent/result.jsonl", "No such file")


def test_more_tokens_than_a_checkpoint_has_positions_are_refused(thinwire):
    done = thinwire("run", "--model", MODELS / "bert-tiny", "--tokens", "65")

    assert_refused(done, "--tokens=65", "positions for 64")


def test_tokens_beside_a_sample_of_another_length_are_refused(thinwire, tmp_path):
    sample = tmp_path / "sample.safetensors"
    header = json.dumps({"input": {"dtype": "I32", "shape": [9], "data_offsets": [0, 36]}})
    sample.write_bytes(len(header).to_bytes(8, "little") + header.encode() + bytes(36))

    done = thinwire("run", "--model", MODELS / "bert-tiny", "--input", sample, "--tokens", "7")

    assert_refused(done, "--tokens=7", "9")


def test_a_switch_of_the_command_is_on_or_off(thinwire):
    assert_refused(thinwire("sweep", "--dry-run=maybe"), "--dry-run=maybe", "on or off")


def test_a_sweep_has_one_result_file(thinwire, write_document, vit_tiny):
    points = [{"json": "a.jsonl"}, {"json": "b.jsonl", "seed": 1}]
    document = write_document({"base": {"model": str(vit_tiny)}, "points": points})

    assert_refused(thinwire("sweep", document), "a.jsonl", "b.jsonl")
    assert thinwire.files() == []


def test_a_sweep_document_that_is_no_json_is_named(thinwire, tmp_path):
    path = tmp_path / "broken.json"
    path.write_text('{"name": ', encoding="utf-8")

    done = thinwire("sweep", path, "--json", "result.jsonl")

    assert_refused(done, "broken.json")
    assert thinwire.files() == []


@pytest.fixture
def model_copy(tmp_path, vit_tiny):
    return shutil.copytree(vit_tiny, tmp_path / "vit-copy")


def test_a_truncated_safetensors_file_is_named(thinwire, model_copy):
    weights = model_copy / "model.safetensors"
    weights.chmod(0o644)
    weights.write_bytes(weights.read_bytes()[:-1000])

    done = thinwire("run", "--model", model_copy, "--json", "result.jsonl")

    assert_refused(done, "model.safetensors")
    assert thinwire.files() == []


def test_a_safetensors_file_cut_within_its_header_is_named(thinwire, model_copy):
    weights = model_copy / "model.safetensors"
    weights.chmod(0o644)
    weights.write_bytes(weights.read_bytes()[:100])

    done = thinwire("run", "--model", model_copy, "--json", "result.jsonl")

    assert_refused(done, "model.safetensors", "header")
    assert thinwire.files() == []


def test_a_folder_in_the_place_of_the_weights_cannot_be_read(thinwire, model_copy):
    weights = model_copy / "model.safetensors"
    weights.unlink()
    weights.mkdir()

    done = thinwire("run", "--model", model_copy, "--json", "result.jsonl")

    assert_refused(done, "model.safetensors")
    assert thinwire.files() == []


def test_a_model_folder_without_weights_is_refused(thinwire, model_copy):
    (model_copy / "model.safetensors").unlink()

    done = thinwire("run", "--model", model_copy, "--json", "result.jsonl")

    assert_refused(done, "model.safetensors")
    assert thinwire.files() == []


def test_fewer_ranks_than_devices_are_an_error(thinwire, vit_tiny):
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    done = thinwire(
        "run", "--model", vit_tiny, "--strategy", "voltage", "--devices", "3",
        "--json", "result.jsonl", prefix=("mpirun", "-n", "1"), environment=as_root,
    )  # fmt: skip

    assert done.returncode == 2, done.stderr
    for fragment in ("devices", "3", "1", "rank"):
        assert fragment in done.stderr
    assert thinwire.files() == []


@pytest.mark.parametrize(
    "content",
    [
        '{"schema": "thinwire.result/9", "id": "0123456789abcdef"}\n',
        '{"weights": [1, 2]}\n',
        "notes\n",
    ],
    ids=["another number", "another document", "no JSON"],
)
@pytest.mark.parametrize("command", ["run", "sweep", "predict"])
def test_a_result_file_of_another_schema_is_left_alone(
    command, content, thinwire, write_document, vit_tiny
):
    result = thinwire.folder / "result.jsonl"
    result.write_text(content, encoding="utf-8")
    document = write_document({"name": "one", "points": [{"model": str(vit_tiny)}]})
    what = ("--model", vit_tiny) if command == "run" else (document,)

    done = thinwire(command, *what, "--json", result)

    assert_refused(done, "result.jsonl", "line 1")
    assert result.read_text(encoding="utf-8") == content
    assert thinwire.files() == ["result.jsonl"]


def test_tables_refuses_records_of_another_schema(thinwire):
    records = thinwire.folder / "old.jsonl"
    records.write_text(json.dumps({"schema": "thinwire.result/9"}) + "\n", encoding="utf-8")
    published = os.path.join(os.path.dirname(__file__), "../../results/published/prism.json")

    done = thinwire("tables", "--published", published, "--results", records)

    assert_refused(done, "old.jsonl", "thinwire.result")


def test_a_terminal_needs_a_rank_more(thinwire, vit_tiny):
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    done = thinwire(
        "run", "--model", vit_tiny, "--strategy", "voltage", "--devices", "2", "--io", "terminal",
        prefix=("mpirun", "--oversubscribe", "-n", "2"), environment=as_root,
    )  # fmt: skip

    assert done.returncode == 2, done.stderr
    for fragment in ("3 MPI ranks", "terminal", "only 2"):
        assert fragment in done.stderr


def test_an_unknown_command_is_refused_with_a_suggestion(thinwire):
    assert_refused(thinwire("swep"), "swep", "sweep")
