import json

import pytest

from synthetic import record
from thinwire_analysis.errors import InputError
from thinwire_analysis.records import finished, load_records, spec_of

LINKS = [(None, [0.2], [0.2])]
SCHEMA = {"type": "object", "required": ["source"], "properties": {"status": {"enum": ["ok"]}}}


def test_reads_every_record_in_order(write_records):
    path = write_records([record(links=LINKS), record("voltage", 2, links=LINKS)])

    found = load_records(path)

    assert [r["spec"]["strategy"] for r in found] == ["single", "voltage"]


def test_a_repeated_point_counts_with_its_latest_record(write_records):
    path = write_records([record(links=LINKS, status="failed"), record(links=LINKS)])

    found = load_records(path)

    assert [r["status"] for r in found] == ["ok"]


def test_a_cut_off_last_line_is_left_out_and_reported(write_records, capsys):
    path = write_records([record(links=LINKS)], tail='{"schema": "thinwire.res')

    found = load_records(path)

    assert len(found) == 1
    assert "last line is cut off" in capsys.readouterr().err


def test_a_complete_last_line_without_newline_counts(write_records):
    second = json.dumps(record("voltage", 2, links=LINKS))
    path = write_records([record(links=LINKS)], tail=second)

    assert len(load_records(path)) == 2


def test_a_broken_line_in_the_middle_is_an_error_with_its_number(write_records):
    path = write_records([record(links=LINKS)], tail="{]\n" + json.dumps(record(links=LINKS)))

    with pytest.raises(InputError, match="line 2: no JSON object"):
        load_records(path)


def test_a_blank_line_is_an_error(write_records):
    path = write_records([record(links=LINKS)], tail="\n")

    with pytest.raises(InputError, match="line 2"):
        load_records(path)


def test_another_schema_is_an_error_that_names_both(write_records):
    path = write_records([record(links=LINKS, schema="thinwire.result/2")])

    with pytest.raises(InputError, match="'thinwire.result/2', expected 'thinwire.result/1'"):
        load_records(path)


def test_a_record_that_breaks_the_schema_is_an_error_with_the_key(write_records):
    path = write_records([record(links=LINKS, status="great")])

    with pytest.raises(InputError, match="line 1: status: 'great'"):
        load_records(path, schema=SCHEMA)


def test_a_file_without_records_is_an_error(write_records):
    with pytest.raises(InputError, match="no records"):
        load_records(write_records([]))


def test_a_missing_file_is_an_error_with_its_name(tmp_path):
    with pytest.raises(InputError, match="absent.jsonl"):
        load_records(tmp_path / "absent.jsonl")


def test_finished_keeps_the_points_that_are_ok():
    ok, failed = record(links=LINKS), record(links=LINKS, status="failed")

    assert finished([failed, ok]) == [ok]
    with pytest.raises(InputError, match="none of 1 points finished"):
        finished([failed])


def test_spec_keys_lose_their_dashes():
    assert spec_of({"spec": {"compression-rate": 4}}) == {"compression_rate": 4}
