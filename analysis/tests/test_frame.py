import math

import pytest

from synthetic import record
from thinwire_analysis.frame import links_frame


def test_one_row_a_link_with_units_converted():
    links = [(1e8, [0.3, 0.1, 0.2], [0.1, 0.1, 0.1]), (None, [0.1], [0.1])]

    frame = links_frame([record("prism", 2, 10, links=links)])

    assert list(frame.label) == ["prism, L = 10"] * 2
    assert frame.rate_mbps[0] == 100.0
    assert math.isnan(frame.rate_mbps[1])
    assert frame.p50_s[0] == pytest.approx(0.2)
    assert list(frame.samples) == [3, 1]


def test_spread_is_taken_from_the_samples():
    samples = [0.1 * i for i in range(1, 12)]  # 0.1 ... 1.1: p10 = 0.2, p90 = 1.0

    frame = links_frame([record(links=[(1e8, samples, samples)])])

    assert frame.p10_s[0] == pytest.approx(0.2)
    assert frame.p90_s[0] == pytest.approx(1.0)


def test_without_samples_the_spread_is_the_median():
    made = record(links=[(1e8, [0.2], [0.2])])
    made["time"]["links"][0]["latency_s"]["samples"] = []

    frame = links_frame([made])

    assert frame.p10_s[0] == frame.p90_s[0] == frame.p50_s[0]


def test_rates_of_unequal_devices_count_as_the_slowest():
    frame = links_frame([record("voltage", 2, links=[([2e8, 1e8], [0.2], [0.2])])])

    assert frame.rate_mbps[0] == 100.0


def test_segments_belong_to_prism_alone():
    frame = links_frame([record("voltage", 2, 10, links=[(1e8, [0.2], [0.2])])])

    assert frame.segments[0] == 0
    assert frame.label[0] == "voltage"
