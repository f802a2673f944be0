"""link-check: measured beside the formula, records of its own schema, bad input."""

import json

import jsonschema
import pytest
from places import SCHEMA
from test_cli_bad_input import assert_refused

FAST = ("--iterations", "3", "--warmup", "1")
LINK_CHECK_SCHEMA = SCHEMA.with_name("thinwire.link-check-1.schema.json")


def valid_records(thinwire, *arguments):
    records = thinwire.records("link-check", *FAST, *arguments)
    schema = json.loads(LINK_CHECK_SCHEMA.read_text(encoding="utf-8"))
    for record in records:
        jsonschema.validate(record, schema)
    return records


def test_an_emulated_link_equals_the_formula(thinwire):
    records = valid_records(
        thinwire, "--devices", "2,3", "--rate", "1Mbps,10Mbps", "--latency", "2ms",
        "--topology", "unicast,shared", "--sizes", "107bit,300kB",
    )  # fmt: skip

    assert len(records) == 2 * 2 * 2 * 2
    for record in records:
        copies = record["devices"] - 1
        if record["link"]["topology"] == "shared":
            copies *= record["devices"]
        seconds = 0.002 + copies * 8 * record["bytes"] / record["link"]["rate_bit_per_s"]
        assert record["formula_s"] == pytest.approx(seconds, rel=1e-12)
        assert record["measured_s"]["samples"] == [record["formula_s"]] * 3
        assert record["error"] == 0
        assert not record["contended"]


def test_a_throttled_link_keeps_its_rate(thinwire):
    (record,) = valid_records(
        thinwire, "--clock", "throttled", "--rate", "10Mbps", "--sizes", "100kB"
    )

    assert record["clock"] == "throttled"
    # Never faster than the rate, but for the MTU that may leave at once.
    assert record["measured_s"]["min"] >= (100_000 - 1500) * 8 / 10e6


def test_people_read_a_table_and_a_fit(thinwire):
    done = thinwire("link-check", *FAST, "--rate", "10Mbps", "--latency", "2ms")

    assert done.returncode == 0, done.stderr
    for text in ("10 Mbps, 2 ms, unicast", "emulated clock", "14 B", "300 kB", "+0.00 %",
                 "fit: 10 Mbps, latency 2 ms"):  # fmt: skip
        assert text in done.stdout
    assert thinwire.files() == []


def test_records_can_go_to_stdout_alone(thinwire):
    done = thinwire("link-check", *FAST, "--rate", "10Mbps", "--sizes", "1kB", "--json", "-")

    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["schema"] == "thinwire.link-check/1"


def test_records_are_appended(thinwire):
    valid_records(thinwire, "--sizes", "1kB")

    assert [record["bytes"] for record in valid_records(thinwire, "--sizes", "2kB")] == [1000, 2000]


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        (("--sizes", "5"), ("--sizes", "5", "unit")),
        (("--sizes", "0B"), ("--sizes", "0B", "bit")),
        (("--sizes", "1kB..2kB"), ("--sizes", "1kB..2kB:log:10")),
        (("--sizes", "2kB..1kB:log:5"), ("--sizes", "ascend")),
        (("--sizes", "3GB"), ("--sizes", "3 GB", "at most")),
        (("--devices", "1"), ("--devices", "1", "two")),
        (("--rate", "10"), ("--rate", "10", "unit")),
        (("--clock", "modelled"), ("--clock", "modelled", "emulated")),
        (("--iterations", "0"), ("--iterations", "0")),
        (("--strategy", "prism"), ("--strategy", "unknown option")),
        (("--json", "/nowhere/at/all.jsonl"), ("--json", "/nowhere/at/all.jsonl")),
    ],
)
def test_bad_input_is_one_line(arguments, fragments, thinwire):
    assert_refused(thinwire("link-check", *arguments), *fragments)
    assert thinwire.files() == []


def test_a_file_of_results_is_left_alone(thinwire):
    results = thinwire.folder / "results.jsonl"
    results.write_text('{"schema": "thinwire.result/1"}\n', encoding="utf-8")

    done = thinwire("link-check", "--json", "results.jsonl")

    assert_refused(done, "results.jsonl", "thinwire.result/1", "thinwire.link-check/1")
    assert results.read_text(encoding="utf-8") == '{"schema": "thinwire.result/1"}\n'
