import pytest

from synthetic import PUBLISHED, latency_sweep
from thinwire_analysis import latency
from thinwire_analysis.errors import InputError
from thinwire_analysis.frame import links_frame


def test_a_device_of_160_gflops_gives_the_published_cuts(sweep):
    frame = links_frame(sweep)

    assert latency.cut_percent(frame, 2, 10, 200) == pytest.approx(43.4, abs=0.1)
    assert latency.cut_percent(frame, 3, 10, 200) == pytest.approx(52.4, abs=0.2)


def test_voltage_passes_a_device_of_160_gflops_near_315_mbps(sweep):
    assert latency.voltage_crossing_mbps(links_frame(sweep), 2) == pytest.approx(315, abs=3)


def test_crossing_is_exact_between_settings_for_a_waiting_exchange():
    rates = [100, 200, 400]
    latencies = [0.1 + 30 / r for r in rates]  # 0.25 s at r = 200; 0.2 s is reached at r = 300

    assert latency.crossing_mbps(rates, latencies, 0.2) == pytest.approx(300)


def test_crossing_does_not_depend_on_the_order_of_the_settings():
    assert latency.crossing_mbps([400, 100, 200], [0.175, 0.4, 0.25], 0.2) == pytest.approx(300)


def test_crossing_of_a_curve_on_one_side():
    assert latency.crossing_mbps([100, 200], [0.2, 0.1], 0.3) == 0.0
    assert latency.crossing_mbps([100, 200], [0.2, 0.1], 0.05) == float("inf")


def test_the_single_devices_rate_is_found_again(sweep):
    assert latency.single_flops_per_s(links_frame(sweep)) == pytest.approx(160e9)


def test_the_formula_agrees_with_a_sweep_made_by_it(sweep):
    frame = links_frame(sweep)

    assert latency.formula_latency_s(frame).tolist() == pytest.approx(frame.p50_s.tolist())
    assert latency.order_violations(frame).empty


def test_a_point_on_the_wrong_side_is_a_violation(sweep):
    frame = links_frame(sweep)
    wrong = (frame.strategy == "prism") & (frame.devices == 3) & (frame.rate_mbps == 500)
    frame.loc[wrong, "p50_s"] = 2 * latency.single_latency_s(frame)

    broken = latency.order_violations(frame)

    assert broken[["label", "devices", "rate_mbps"]].values.tolist() == [["prism, L = 10", 3, 500]]


def test_points_near_the_single_device_are_not_judged(sweep):
    frame = links_frame(sweep)
    near = (frame.strategy == "voltage") & (frame.devices == 2) & (frame.rate_mbps == 300)
    frame.loc[near, "p50_s"] = 0.5 * latency.single_latency_s(frame)

    assert latency.order_violations(frame).empty


def test_cuts_table_shows_published_ours_and_the_difference(sweep):
    table = latency.cuts_table({"modelled": links_frame(sweep)}, PUBLISHED)

    assert table["published cut (%)"].tolist() == ["43.3", "52.6"]
    assert [float(v) for v in table["modelled - published (points)"]] == pytest.approx(
        [0.1, -0.2], abs=0.11
    )


def test_crossings_outside_the_settings_are_said_to_be_so():
    slow, fast = (links_frame(latency_sweep(rate)) for rate in (10e9, 10e12))

    table = latency.crossings_table({"slow": slow, "fast": fast}, PUBLISHED)

    assert table["P"].tolist() == [2, 3]
    assert table["published (Mbps)"].tolist() == ["about 400", ""]
    assert table["slow (Mbps)"].tolist() == ["below 100"] * 2
    assert table["fast (Mbps)"].tolist() == ["above 1000"] * 2


def test_points_table_has_a_row_a_point(sweep):
    table = latency.points_table(links_frame(sweep))

    assert len(table) == 50
    assert table["cut vs single (%)"][0] == "0.0"


def test_a_sweep_without_a_single_device_is_refused(sweep):
    frame = links_frame(sweep[1:])

    with pytest.raises(InputError, match="strategy single"):
        latency.single_latency_s(frame)


def test_a_missing_point_is_named(sweep):
    with pytest.raises(InputError, match="prism P=2 L=25 at 200 Mbps"):
        latency.cut_percent(links_frame(sweep), 2, 25, 200)
