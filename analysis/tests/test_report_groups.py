import numpy as np
import pytest

from synthetic import latency_sweep, record
from thinwire_analysis.html_report.groups import curve_labels, timed_groups
from thinwire_analysis.rates import rate_text, rate_unit, reference_rate

LINK = [(1e8, [0.1, 0.3], [0.1, 0.1])]


def with_spec(made, **options):
    made["spec"].update({name.replace("_", "-"): value for name, value in options.items()})
    return made


def test_records_of_different_clocks_do_not_share_a_figure():
    records = [
        with_spec(record("voltage", 2, links=LINK), clock=clock) for clock in ("emulated", "native")
    ]

    groups = timed_groups(records)

    assert ["emulated" in group.title for group in groups] == [True, False]


def test_measurements_of_different_machines_do_not_share_a_figure():
    records = [
        record("voltage", 2, links=LINK, environment={"cpu": cpu}) for cpu in ("one", "another")
    ]

    assert len(timed_groups(records)) == 2


def test_repeats_are_one_point_with_the_spread_of_their_medians():
    records = [
        with_spec(record("voltage", 2, links=[(1e8, [time_s], [time_s])]), repeat=repeat)
        for repeat, time_s in enumerate((0.1, 0.2, 0.6))
    ]

    frame = timed_groups(records)[0].frame

    assert len(frame) == 1
    assert frame.p50_s[0] == pytest.approx(0.2)
    assert (frame.p10_s[0], frame.p90_s[0]) == pytest.approx((0.12, 0.52))
    assert (frame.repeats[0], frame.samples[0]) == (3, 3)


def test_only_options_that_differ_name_a_curve():
    base = {"strategy": "voltage", "devices": 2, "overlap": "off", "buffers": None}

    labels = curve_labels([base, {**base, "overlap": "on"}, {**base, "devices": 3}])

    assert labels == ["voltage, overlap off", "voltage, overlap on", "voltage, overlap off"]


def test_equal_speeds_of_more_devices_are_the_same_option():
    specs = [
        {"strategy": "voltage", "devices": p, "slowness": [1.0] * p} for p in (2, 3)
    ]

    assert curve_labels(specs) == ["voltage", "voltage"]


def test_prism_by_compression_rate_is_named_by_it():
    specs = [
        {"strategy": "prism", "segments": None, "compression_rate": ratio} for ratio in (2.0, 9.9)
    ]

    assert curve_labels(specs) == ["prism, CR = 2", "prism, CR = 9.9"]


def test_a_sweep_is_one_group_with_a_row_a_point():
    groups = timed_groups(latency_sweep(160e9))

    assert len(groups) == 1
    assert len(groups[0].frame) == 50


def test_rates_are_shown_in_the_unit_in_which_they_are_whole():
    assert rate_unit([1.048576, 2.097152, 10.0])[1] == "Mbps of 2^20 bit/s"
    assert rate_unit([10.0, 20.0]) == (1.0, "Mbps")
    assert rate_text(10.48576) == "10 Mbps of 2^20 bit/s"
    assert rate_text(float("nan")) == "unlimited"


def test_the_papers_rate_stands_for_all_else_the_middle_one():
    assert reference_rate([100.0, 200.0, 900.0]) == 200.0
    assert reference_rate([1.0, 2.0, 4.0, np.nan]) == 2.0
    assert np.isnan(reference_rate([np.nan]))
