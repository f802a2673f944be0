"""The front of score over bits with and without coded indices and reduced payloads."""

import json

import pytest

from beyond_synthetic import evaluated, scores_of, timed
from thinwire_analysis.accuracy_study import load_task
from thinwire_analysis.beyond import PARTS
from thinwire_analysis.beyond_pareto import close_points, close_table, front_rows, front_table
from thinwire_analysis.beyond_pareto_chapter import pareto_chapter
from thinwire_analysis.figures import Sheet

TRACE = {"active-codewords": 512}


def write(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


@pytest.fixture
def task(tmp_path):
    """Voltage in full and in int8, trace-b fixed and coded, with times at a link."""
    parts = {
        "exact": [
            evaluated("single", 1, value=0.700, bits=0),
            evaluated("voltage", value=0.700, bits=1e6),
            evaluated("voltage", value=0.699, bits=2.5e5, payload="int8"),
        ],
        "trace": [
            evaluated("trace-b", value=0.694, bits=1000, **TRACE, **{"index-coding": "fixed"}),
            evaluated("trace-b", value=0.694, bits=500, **TRACE, **{"index-coding": "cross-layer"}),
            evaluated("trace-b", value=0.500, bits=600, **{"active-codewords": 2}),
        ],
    }  # fmt: skip
    folder = tmp_path / "cifar10"
    folder.mkdir()
    for part, records in parts.items():
        write(folder / f"{part}.jsonl", records)
        write(folder / f"{part}.scores", map(scores_of, records))
    times = [timed("voltage", mean_s=1.0), timed("trace-b", mean_s=0.2, **TRACE),
             timed("trace-b", mean_s=0.1, **TRACE, **{"index-coding": "cross-layer"})]  # fmt: skip
    for made in times:
        made["spec"] |= {"device-gflops": [10.0], "rate": ["250kbps"]}
    write(folder / "latency.predicted", times)
    return load_task(folder, None, PARTS)


def test_coded_points_are_new_and_named_so(task):
    rows = front_rows(task, "sent_bits").set_index("label")

    assert rows.is_new.to_dict() == {
        "voltage": False, "voltage, int8": True, "trace-b, K = 512": False,
        "trace-b, K = 512, cross-layer": True, "trace-b, K = 2": False,
    }  # fmt: skip


def test_the_front_leaves_out_what_another_point_beats(task):
    table = front_table([task])

    assert table.point.tolist() == ["trace-b, K = 512, cross-layer", "voltage, int8", "voltage"]
    assert table.new.tolist() == ["yes", "yes", "no"]


def test_the_cheapest_point_that_scores_nearly_as_well(task):
    without, best = close_points(task, "sent_bits")

    assert (without.label, best.label) == ("trace-b, K = 512", "trace-b, K = 512, cross-layer")
    assert close_table([task]).ratio.tolist() == ["0.50", "0.50"]


def test_a_point_two_points_below_is_not_close(task):
    frame = task.frame
    frame.loc[frame.strategy == "trace-b", "value"] = 0.68

    assert [row.label for row in close_points(task, "sent_bits")] == ["voltage", "voltage, int8"]


def test_words_and_figures(task, tmp_path):
    chapter = pareto_chapter([task])

    text = "\n".join(chapter.text)
    assert "cifar10: 2 of the front's 3 points are new ones, from 500 bit (69.40)" in text
    assert "500 bit by trace-b, K = 512, cross-layer on 2 devices, 0.50 of the papers' best" in text
    assert [figure.kind for figure in chapter.figures] == ["front-bits", "front-latency"]
    for figure in chapter.figures:
        figure.draw(Sheet(tmp_path / f"{figure.kind}.png"))
        assert (tmp_path / f"{figure.kind}.png").stat().st_size > 5_000


def test_without_points_there_is_no_chapter():
    assert pareto_chapter([]) is None
