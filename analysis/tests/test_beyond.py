"""The study beyond the papers: tables, words and checks from small records by formula."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from synthetic import record
from thinwire_analysis import beyond
from thinwire_analysis.beyond_break_even import (
    at_speed,
    bit_rate_text,
    break_even_frame,
    break_even_table,
    check_proportional,
    check_times_meet,
    family,
    scaled,
)
from thinwire_analysis.beyond_links_chapter import links_chapter
from thinwire_analysis.cli import main
from thinwire_analysis.errors import InputError
from thinwire_analysis.html_report.cli import main as build_page

ALONE_S, SPLIT_S = 3.0, 1.0
BITS = {"voltage": 4e6, "trace-b": 1e3}  # that all exchanges of an inference send


def found(strategy, devices=2, gflops=10, model="vit-base-16", topology="broadcast", **spec):
    """What break_even.py writes for devices of 10 GFLOP/s that split 3 s into 1 s and messages."""
    alone_s, split_s = ALONE_S * 10 / gflops, SPLIT_S * 10 / gflops
    copies = devices - 1 if topology == "unicast" else 1
    rate = copies * BITS.get(strategy, 1e5) / (alone_s - split_s)
    links = [(rate, [alone_s], [split_s]), (None, [split_s], [split_s])]
    if strategy == "single":
        links = [(None, [alone_s], [alone_s])]
    if spec.pop("never", False):
        links = [(None, [alone_s], [alone_s])]
    made = record(strategy, devices, links=links)
    made["spec"] |= {"model": model, "device-gflops": [gflops], **spec}
    for link in made["time"]["links"]:
        link["link"]["topology"] = topology
    made["id"] = "-".join(map(str, (strategy, devices, gflops, model, topology, *spec.values())))
    return made


def study(gflops=10):
    return [
        found("single", 1, gflops),
        found("voltage", 2, gflops),
        found("voltage", 4, gflops),
        found("voltage", 4, gflops, topology="unicast"),
        found("trace-b", 2, gflops, **{"active-codewords": 1024}),
        found("pipeline", 2, gflops, never=True),
    ]


@pytest.fixture
def records():
    return study(10) + study(40)


@pytest.fixture
def folder(tmp_path, records):
    path = tmp_path / "beyond"
    path.mkdir()
    write(path / "break-even.predicted", records)
    return path


def write(path, records):
    path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")


def run(folder, tmp_path):
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps({"type": "object", "required": ["schema", "spec"]}))
    return main(
        ["beyond", "--results", str(folder), "--out", str(folder), "--schema", str(schema)]
    )


def test_a_row_a_strategy_and_a_column_a_model_and_link(records):
    table = break_even_table(at_speed(break_even_frame(records), 10))

    assert list(table.columns) == [
        "strategy", "vit-base-16, P = 2", "vit-base-16, P = 4 broadcast",
        "vit-base-16, P = 4 unicast",
    ]  # fmt: skip
    rows = {row[0]: row[1:] for row in table.itertuples(index=False)}
    assert rows["voltage"] == ("2 Mbps", "2 Mbps", "6 Mbps")
    assert rows["trace-b, K = 1024"] == ("500 bps", "–", "–")
    assert rows["pipeline"] == ("never", "–", "–")


def test_the_time_of_several_inputs_is_that_of_one():
    several = found("pipeline", 2, **{"micro-batches": 4})
    for link in several["time"]["links"]:
        link["latency_s"]["p50"] *= 4

    frame = break_even_frame([found("single", 1), several])

    assert frame.label[0] == "pipeline, 4 inputs"
    assert frame.time_s[0] == ALONE_S and frame.speedup[0] == ALONE_S / SPLIT_S


def test_coded_frames_break_even_at_their_part_of_the_rate(records):
    frame = at_speed(break_even_frame(records), 10)

    ratios = {("vit", "trace-b"): (0.25, "cross-layer"), ("gpt2", "astra"): (0.1, "cross-layer")}
    coded = scaled(frame, ratios)

    coarse = break_even_frame([found("single", 1), found("trace-b", **{"active-codewords": 2})])
    both = pd.concat([frame, coarse])
    assert "trace-b, K = 2, cross-layer" not in set(scaled(both, ratios).label)
    row = coded[coded.label == "trace-b, K = 1024, cross-layer"]
    assert len(coded) == len(frame) + 1
    assert row.rate.tolist() == [pytest.approx(125.0)]
    assert scaled(frame, {}).equals(frame)


@pytest.mark.parametrize("model, kind", [
    ("vit-base-16", "vit"), ("vit-cifar10", "vit"), ("minilm-l6", "bert"), ("bert-base", "bert"),
    ("gpt2-shakespeare", "gpt2"), ("another", "another"),
])
def test_a_model_is_of_a_family_by_its_name(model, kind):
    assert family(model) == kind


@pytest.mark.parametrize("rate, text", [
    (np.nan, "never"), (229.0, "229 bps"), (3967.4, "3.97 kbps"), (2e7, "20 Mbps"),
    (1.5e9, "1.5 Gbps"),
])
def test_rates_are_in_units_that_suit(rate, text):
    assert bit_rate_text(rate) == text


def test_accepts_sound_rates_and_refuses_others(records):
    frame = break_even_frame(records)

    assert check_times_meet(frame).passed
    assert check_proportional(frame).passed
    assert not check_times_meet(frame.assign(time_s=1.01 * frame.time_s)).passed
    assert not check_times_meet(frame[frame.rate.isna()]).passed
    assert not check_proportional(frame.assign(rate=1e6)).passed
    assert not check_proportional(at_speed(frame, 10)).passed


def test_the_words_have_the_numbers_of_the_records(records):
    text = "\n".join(links_chapter(break_even_frame(records), {}).text)

    assert "voltage at 2 Mbps and trace-b K = 1024 at 500 bps" in text
    assert "a factor of 4,000" in text
    assert "Never worth it, on whatever link: pipeline." in text
    assert "At 40 GFLOP/s" in text and "4 times as high" in text
    assert "No record of coded indices is here" in text


def test_a_model_with_its_own_tables_is_told_with_and_without():
    own = {"model": "vit-cifar10"}
    points = [found("single", 1, **own), found("voltage", **own),
              found("voltage", **own, payload="int8"),
              found("trace-b", **own, never=True, **{"active-codewords": 512})]  # fmt: skip

    text = "\n".join(links_chapter(break_even_frame(study() + points), {}).text)

    assert "voltage on 2 devices of vit-cifar10 from 2 Mbps to 2 Mbps with int8." in text
    assert "Never worth it, on whatever link: pipeline and trace-b K = 512." in text


def test_the_stated_speed_leads_also_on_a_slower_machine():
    text = "\n".join(links_chapter(break_even_frame(study(10) + study(5)), {}).text)

    assert "devices of 10 GFLOP/s each" in text
    assert "At 5 GFLOP/s" in text and "0.5 times as high" in text


def test_writes_report_figures_and_tables(folder, tmp_path, capsys):
    status = run(folder, tmp_path)

    assert status == 0, capsys.readouterr().out
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert "| voltage | 2 Mbps |" in text
    assert "![" in text and (folder / "break-even.png").stat().st_size > 10_000
    assert (folder / "links-1.csv").exists()


def test_the_page_has_the_words_figures_and_tables(folder, tmp_path, sweep):
    write(folder / "sweep.jsonl", sweep)
    run(folder, tmp_path)
    page = tmp_path / "page.html"

    status = build_page(
        [str(folder), "-o", str(page), "--schema", str(tmp_path / "schema.json")]
    )

    assert status == 0
    text = page.read_text(encoding="utf-8")
    assert "Beyond the papers (beyond)" in text
    assert "a factor of 4,000" in text and 'id="beyond-links-break-even"' in text
    assert "<td>trace-b, K = 1024</td><td>500 bps</td>" in text
    names = re.findall(r'\bid="([^"]+)"', text)
    assert len(names) == len(set(names))


def test_a_rate_that_does_not_break_even_fails(folder, tmp_path, records, capsys):
    records[1]["time"]["links"][0]["latency_s"]["p50"] *= 2
    write(folder / "break-even.predicted", records)

    assert run(folder, tmp_path) == 1
    assert "FAIL  at the break-even rate" in capsys.readouterr().out


def test_a_folder_without_the_study_is_bad_input(tmp_path, capsys):
    assert run(tmp_path, tmp_path) == 2
    assert "break-even.predicted" in capsys.readouterr().err
    with pytest.raises(InputError):
        beyond.judge(tmp_path, None)
