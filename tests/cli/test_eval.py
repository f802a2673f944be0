"""`thinwire eval`: scores of data sets, over ranks, resumed, compared with the single device."""

import json
import math
import random

import data_files
import jsonschema
import pytest
from places import MODELS, SCHEMA

MPIRUN = ("mpirun", "--oversubscribe", "--bind-to", "none", "-n")
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
LENGTHS = [4, 20, 9, 13, 33, 5, 12, 12, 28, 7, 16, 40]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def pictures(folder):
    return data_files.pictures(folder / "pictures.safetensors", samples=9)


@pytest.fixture(scope="module")
def sentences(folder):
    return data_files.sentences(folder / "sentences.safetensors", LENGTHS)


@pytest.fixture(scope="module")
def text(folder):
    """Bytes that gpt2-tiny, with its vocabulary of 96, knows."""
    values = [random.Random(5).randrange(96) for _ in range(300)]
    return data_files.write(folder / "text.safetensors", valid=("U8", [300], values))


def arguments(model, data, **options):
    words = ["eval", "--model", MODELS / model, "--data", data]
    for name, value in options.items():
        words += [f"--{name.replace('_', '-')}", value]
    return words


def check(record):
    jsonschema.validate(record, json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert record["status"] == "ok"
    assert record["checks"]["counted_equals_predicted"] is True
    return record["accuracy"]


def without_time(accuracy):
    return {key: value for key, value in accuracy.items() if key != "wall_s"}


def test_a_picture_set_has_an_accuracy_with_an_interval(thinwire, pictures):
    (record,) = thinwire.records(*arguments("vit-tiny", pictures))

    accuracy = check(record)
    assert accuracy["metric"] == "accuracy"
    assert accuracy["samples"] == 9
    assert accuracy["value"] * 9 == pytest.approx(round(accuracy["value"] * 9))
    low, high = accuracy["interval_95"]
    assert low <= accuracy["value"] <= high
    assert set(accuracy["also"]) == {"f1", "matthews"}
    assert accuracy["bits_per_inference"] == 0
    assert record["spec"]["data"] == "pictures.safetensors"
    assert record["spec"]["samples"] == [0, 8]
    assert len(record["spec"]["data-fingerprint"]) == 16
    assert record["operations"]["total_flops"] > 0


def test_answers_are_those_of_single_runs(thinwire, pictures):
    options = {"strategy": "prism", "devices": "3", "segments": "2"}
    thinwire.records(*arguments("vit-tiny", pictures, scores="scores.jsonl", **options))
    (scores,) = thinwire.read("scores.jsonl")

    for sample in (0, 8):
        run = ["run", "--model", MODELS / "vit-tiny", "--input", pictures, "--sample", str(sample),
               "--iterations", "1", "--warmup", "0"]  # fmt: skip
        for name, value in options.items():
            run += [f"--{name}", value]
        record = thinwire.records(*run)[-1]
        assert scores["predicted"][sample] == record["answer"]["classes"][0]["label"]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 6])
def test_any_number_of_ranks_gives_the_same_answers(thinwire, sentences, ranks):
    given = arguments("bert-tiny", sentences, strategy="prism", devices="3", segments="2",
                      agreement="on")  # fmt: skip
    (alone,) = thinwire.records(*given, environment={**AS_ROOT, "OMP_NUM_THREADS": "1"})
    done = thinwire(*given, "--json", "shared.jsonl", "--scores", "scores.jsonl",
                    prefix=(*MPIRUN, str(ranks)), environment=AS_ROOT)  # fmt: skip

    assert done.returncode == 0, done.stderr
    (shared,) = thinwire.read("shared.jsonl")
    assert without_time(check(shared)) == without_time(check(alone))
    assert shared["id"] == alone["id"]
    assert shared["environment"]["ranks"] == ranks
    (scores,) = thinwire.read("scores.jsonl")
    assert scores["id"] == alone["id"]
    assert len(scores["predicted"]) == len(LENGTHS)


@pytest.mark.parametrize("strategy", ["voltage", "tensor", "pipeline"])
def test_exact_strategies_agree_with_the_single_device(thinwire, sentences, strategy):
    (record,) = thinwire.records(
        *arguments("bert-tiny", sentences, strategy=strategy, devices="3", agreement="on"))

    agreement = check(record)["agreement"]
    assert agreement["largest_relative_difference"] <= 1e-4
    assert agreement["top1"] == 1
    assert agreement["kl_divergence"] == pytest.approx(0, abs=1e-9)
    assert agreement["hidden_cosine"] == pytest.approx([1] * 4, abs=1e-5)
    assert agreement["change"] == 0
    assert agreement["change_interval_95"] == [0, 0]


def test_padded_and_packed_sentences_score_the_same(thinwire, folder, sentences):
    padded = data_files.sentences(folder / "padded.safetensors", LENGTHS, form="attention_mask")
    for strategy in (("single", "1"), ("voltage", "3"), ("tensor", "3"), ("pipeline", "2")):
        scores = []
        for data in (sentences, padded):
            name = f"{strategy[0]}-{data.stem}.jsonl"
            thinwire.records(*arguments("bert-tiny", data, strategy=strategy[0],
                                        devices=strategy[1], scores=name))  # fmt: skip
            scores.append(thinwire.read(name)[0]["predicted"])
        assert scores[0] == scores[1], strategy


def test_short_sentences_are_counted(thinwire, sentences):
    records = thinwire.records(
        *arguments("bert-tiny", sentences, strategy="prism", devices="6", segments="2"))

    tokens = check(records[0])["tokens"]
    assert tokens["samples_on_fewer_devices"] == 2  # of 4 and 5 tokens
    assert tokens["samples_with_fewer_segments"] == 4  # of 4, 5, 7 and 9: a part has one row
    assert (tokens["min"], tokens["max"]) == (4, 40)


def test_lists_become_points_and_finished_ones_are_not_repeated(thinwire, pictures):
    given = arguments("vit-tiny", pictures, strategy="voltage", devices="2,3")
    first = thinwire.records(*given)
    again = thinwire(*given, "--json", "result.jsonl")

    assert [record["spec"]["devices"] for record in first] == [2, 3]
    assert again.returncode == 0, again.stderr
    assert "2 already there" in again.stderr
    assert len(thinwire.read("result.jsonl")) == 2


def test_other_samples_or_other_data_are_other_points(thinwire, folder, pictures):
    (folder / "other").mkdir(exist_ok=True)
    other = data_files.pictures(folder / "other" / "pictures.safetensors", 9, seed=2)
    thinwire.records(*arguments("vit-tiny", pictures))
    thinwire.records(*arguments("vit-tiny", pictures, samples="0..8"))  # all, said aloud
    thinwire.records(*arguments("vit-tiny", pictures, samples="1..8"))
    records = thinwire.records(*arguments("vit-tiny", other))

    assert len(records) == 3
    assert len({record["id"] for record in records}) == 3


def test_a_document_gives_points(thinwire, pictures, write_document):
    document = {
        "base": {"model": str(MODELS / "vit-tiny"), "data": str(pictures), "samples": "0..3",
                 "iterations": 3},
        "matrix": {"strategy": ["single", "voltage"], "devices": [1, 2]},
        "exclude": [{"strategy": "single", "devices": 2}],
    }  # fmt: skip
    records = thinwire.records("eval", write_document(document))

    assert [(r["spec"]["strategy"], r["spec"]["devices"]) for r in records] == [
        ("single", 1), ("voltage", 1), ("voltage", 2)]  # fmt: skip
    assert all(record["spec"]["iterations"] == 1 for record in records)


def test_bytes_give_bits_per_byte(thinwire, text):
    (record,) = thinwire.records(
        *arguments("gpt2-tiny", text, tokens="32", strategy="voltage", devices="2",
                   scores="losses.jsonl"))  # fmt: skip

    accuracy = check(record)
    (scores,) = thinwire.read("losses.jsonl")
    assert scores["bytes"] == scores["characters"] == scores["predictions"] == [31] * 9
    bits = sum(scores["loss"]) / math.log(2) / sum(scores["bytes"])
    assert accuracy["value"] == pytest.approx(bits)
    assert accuracy["metric"] == "bits_per_byte"
    assert accuracy["samples"] == 9
    assert 5 < accuracy["value"] < 9  # noise to a model of 96 values
    assert {"bits_per_character", "perplexity"} == set(accuracy["also"])


def test_without_labels_the_agreement_is_the_metric(thinwire, folder):
    data = data_files.pictures(folder / "unlabelled.safetensors", 6, labels=False)
    (record,) = thinwire.records(
        *arguments("vit-tiny", data, strategy="prism", devices="2", segments="4"))

    accuracy = check(record)
    assert accuracy["metric"] == "agreement"
    assert accuracy["value"] == accuracy["agreement"]["top1"]
    assert accuracy["agreement"]["change"] is None
    assert 0 < accuracy["agreement"]["output_cosine"] <= 1.000001


def test_what_cannot_fit_is_skipped_with_the_reason(thinwire, sentences):
    (record,) = thinwire.records(*arguments("bert-tiny", sentences, strategy="tensor", devices="4"))

    assert record["status"] == "skipped"
    assert "3 heads cannot be split over more than 3 devices" in record["reason"]


def test_a_dry_run_prints_the_points(thinwire, pictures):
    done = thinwire(*arguments("vit-tiny", pictures, devices="1,2"), "--dry-run")

    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2
    assert "data=pictures.safetensors" in done.stdout
    assert thinwire.files() == []


def test_the_result_is_printed_for_people(thinwire, pictures):
    done = thinwire(*arguments("vit-tiny", pictures, strategy="voltage", devices="2"))

    assert done.returncode == 0, done.stderr
    assert "voltage on 2 devices: vit-tiny, pictures.safetensors, samples 0..8" in done.stdout
    assert "accuracy" in done.stdout and "over 9 samples" in done.stdout


@pytest.mark.parametrize(
    "options, message",
    [
        ({"samples": "5..9"}, "--samples=5..9: {data} has 9 (0..8 is right)"),
        ({"samples": "8..5"}, "--samples=8..5: samples FIRST..LAST"),
        ({"metric": "acuracy"}, "did you mean accuracy?"),
        ({"metric": "spearman"}, "its samples give accuracy, f1, matthews, agreement"),
        ({"strategy": "voltage", "devices": "2", "io": "terminal"}, "a terminal changes no answer"),
        ({"iterations": "3"}, "unknown option --iterations"),
        ({"tokens": "9"}, "--tokens=9"),
    ],
)
def test_bad_input_is_one_line(thinwire, pictures, options, message):
    done = thinwire(*arguments("vit-tiny", pictures, **options), "--json", "result.jsonl")

    assert done.returncode == 2
    assert message.format(data=pictures) in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert thinwire.files() == []


def test_a_broken_sample_is_named(thinwire, folder):
    data = data_files.write(
        folder / "broken.safetensors",
        input_ids=("I32", [3, 4], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 999, 12]),
        length=("I32", [3], [4, 4, 4]),
        label=("I32", [3], [0, 1, 0]),
    )
    done = thinwire(*arguments("bert-tiny", data), "--json", "result.jsonl")

    assert done.returncode != 0
    assert "999" in done.stderr and "row 2" in done.stderr
    (record,) = thinwire.read("result.jsonl")
    assert record["status"] == "failed"
    assert "999" in record["reason"]


def test_other_commands_read_no_data_sets(thinwire, pictures, write_document):
    done = thinwire("run", "--data", pictures)
    assert done.returncode == 2
    assert "unknown option --data" in done.stderr

    document = {"base": {"model": str(MODELS / "vit-tiny"), "data": str(pictures)}}
    done = thinwire("sweep", write_document(document), "--json", "result.jsonl")
    assert done.returncode == 2
    assert "only `eval` evaluates data sets" in done.stderr
