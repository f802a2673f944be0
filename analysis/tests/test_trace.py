import json

import numpy as np
import pandas as pd
import pytest

from synthetic import record
from thinwire_analysis import trace_checks, trace_tables
from thinwire_analysis.errors import InputError
from thinwire_analysis.frame import links_frame, strategy_label
from thinwire_analysis.timeline_figure import draw_timelines, layer_window, load_events

RATE = 10 * 2**20


def measured(
    strategy, devices, latency_s, flops, *, codewords=None, wait_s=0.0, skew_s=0.0, repeat=0
):
    """A record of one link with its waiting; K is the active level's."""
    made = record(
        strategy, devices, links=[(RATE, [latency_s], [latency_s - wait_s])], total_flops=flops
    )
    made["spec"].update({"active-codewords": codewords, "repeat": repeat})
    made["operations"]["block_flops"] = flops // 12
    link = made["time"]["links"][0]
    for figure, value in (("wait_s", wait_s), ("skew_s", skew_s), ("hidden_s", 0.0)):
        link[figure] = {"p50": value}
    return made


@pytest.fixture
def frame():
    """trace-b beside astra: 1.10 and 1.25 times faster, by operations 1.15 and 1.25.

    The machine was twice as slow in the second round of three.
    """
    records = []
    for repeat, slowness in enumerate((1.0, 2.0, 1.0)):
        for devices in (2, 3):
            for strategy, latency_s, flops, codewords in (
                ("astra", 0.110, 13800, None),
                ("trace-b", 0.100, 12000, 1024),
                ("trace-b", 0.088, 11040, 32),
            ):
                records.append(
                    measured(
                        strategy, devices, slowness * latency_s, flops, codewords=codewords,
                        repeat=repeat,
                    )
                )  # fmt: skip
    return links_frame(records)


def test_ratios_within_five_percent_of_the_operations_pass(frame):
    verdicts = trace_checks.check_ratios(frame)

    assert [check.passed for check in verdicts] == [True] * 4
    assert "1.100 measured (quartiles 1.100 and 1.100, 3 rounds), 1.150 by" in verdicts[0].detail


def test_a_ratio_further_away_fails(frame):
    frame.loc[(frame.strategy == "astra") & (frame.devices == 3), "p50_s"] *= 1.2

    assert [check.passed for check in trace_checks.check_ratios(frame)] == [
        True, True, False, False,
    ]  # fmt: skip


def test_curves_that_differ_have_names_of_their_own():
    specs = [
        {"strategy": "astra", "groups": groups, "index_bits": bits}
        for groups in (1, 16)
        for bits in ("16", "packed")
    ]

    assert [strategy_label(spec) for spec in specs] == [
        "astra", "astra, packed", "astra, G = 16", "astra, G = 16, packed",
    ]  # fmt: skip


def test_reduced_payloads_name_a_curve():
    specs = [
        {"strategy": strategy, "segments": 10, **payload}
        for strategy in ("voltage", "prism")
        for payload in ({}, {"payload": "int8"})
    ]

    assert [strategy_label(spec) for spec in specs] == [
        "voltage", "voltage, int8", "prism, L = 10", "prism, L = 10, int8",
    ]  # fmt: skip


def test_a_missing_point_fails_the_ratio(frame):
    assert not trace_checks.check_ratios(frame[frame.strategy != "astra"])[0].passed


@pytest.mark.parametrize(("wait_s", "skew_s", "passed"), [(0.0, 0.0, True), (0.010, 0.0, False), (0.010, 0.009, True)])
def test_waiting_beside_skew_decides_whether_communication_is_hidden(wait_s, skew_s, passed):
    made = measured("trace-b", 2, 0.1, 1, codewords=1024, wait_s=wait_s, skew_s=skew_s)

    assert trace_checks.check_hidden(links_frame([made]), RATE / 1e6).passed is passed


def test_no_trace_point_is_not_hidden(frame):
    assert not trace_checks.check_hidden(frame[frame.strategy == "astra"], RATE / 1e6).passed


def test_cells_must_be_equal_and_enough():
    cells = [
        {"table": "compression_vit", "row": f"row {i}", "ours": "1", "equal": i != 2}
        for i in range(3)
    ]

    assert not trace_checks.check_equal_cells(cells, ("compression",), "ratios", 3).passed
    assert trace_checks.check_equal_cells(cells[:2], ("compression",), "ratios", 2).passed
    assert not trace_checks.check_equal_cells(cells[:2], ("compression",), "ratios", 3).passed


def test_the_ratios_table_sets_the_published_figures_beside_ours(frame):
    cell = {"table": "latency_p2", "row": "TRACE-B K=32", "column": "over_astra"}

    table = trace_tables.ratios_table(frame, [{**cell, "published": "1.27"}])

    assert list(table.columns) == ["P", "K", "measured", "quartiles", "by operations", "published"]
    assert list(table.iloc[1]) == [2, 32, "1.250", "1.250, 1.250", "1.250", "1.27"]


def test_the_tensor_table_finds_where_a_split_gets_faster():
    rates = np.array([100.0, 1000.0])
    single = pd.DataFrame({"strategy": "single", "devices": 1, "rate_mbps": rates, "p50_s": 1.0})
    tensor = pd.DataFrame({"strategy": "tensor", "devices": 6, "rate_mbps": rates, "p50_s": 0.5 + 100 / rates})
    voltage = tensor.assign(strategy="voltage", p50_s=2.0)
    frame = pd.concat([single, tensor, voltage]).assign(model="a model")

    row = trace_tables.tensor_table(frame).iloc[0]

    assert row["tensor faster from (Mbps)"] == "200"
    assert row["voltage faster from (Mbps)"] == "above 1000"


@pytest.fixture
def timeline_file(tmp_path):
    """Two devices, two layers: compute of 10 ms each, a transfer and a wait between them."""
    events = [{"ph": "M", "pid": 0, "name": "process_name"}]
    for device in (0, 1):
        for layer in (0, 1):
            start = 20e3 * layer
            events.append(bar("finish", "compute", 2 * device, start, 10e3, layer))
            events.append(bar("to all", "transfer", 2 * device + 1, start + 10e3, 8e3, layer))
            events.append(bar("wait", "wait", 2 * device, start + 10e3, 10e3, layer))
    path = tmp_path / "timeline.json"
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def bar(name, category, lane, start, duration, layer):
    return {
        "ph": "X", "pid": 0, "name": name, "cat": category, "tid": lane, "ts": start,
        "dur": duration, "args": {"layer": layer},
    }  # fmt: skip


def test_a_layer_lasts_from_its_first_to_its_last_work(timeline_file):
    assert layer_window(load_events(timeline_file), 1) == (20e3, 40e3)


def test_a_layer_without_events_is_bad_input(timeline_file):
    with pytest.raises(InputError, match="layer 7"):
        layer_window(load_events(timeline_file), 7)


def test_timelines_are_drawn(timeline_file, tmp_path):
    events = load_events(timeline_file)

    draw_timelines({"voltage": events, "trace-b": events}, 1, "title", tmp_path / "timelines.png")

    assert (tmp_path / "timelines.png").stat().st_size > 5000


def test_a_file_that_is_no_timeline_is_bad_input(tmp_path):
    path = tmp_path / "broken.json"
    path.write_text("{}")

    with pytest.raises(InputError, match="no timeline"):
        load_events(path)
