import json

import pytest

from synthetic import record
from thinwire_analysis import scale
from thinwire_analysis.cli import main
from thinwire_analysis.errors import InputError
from thinwire_analysis.frame import links_frame

SINGLE_S = 10.0
RATES = (1e6, 1e9)


def latency_s(devices, rate):
    """Compute time falls with P, waiting grows with it: least at P = 4 and P = 64."""
    step_s = SINGLE_S / 16 if rate == RATES[0] else SINGLE_S / 4096
    return SINGLE_S / devices + (devices - 1) * step_s


def point(strategy, devices, times=latency_s):
    made = record(
        strategy, devices, links=[(rate, [times(devices, rate)], [SINGLE_S]) for rate in RATES]
    )
    made["source"] = "predicted"
    made["spec"]["tokens"] = 8192
    for link in made["time"]["links"]:
        link["wait_s"] = link["latency_s"]
    return made


def skipped(strategy, devices, reason):
    made = point(strategy, devices)
    return {**made, "status": "skipped", "reason": reason}


@pytest.fixture
def records():
    made = [point("voltage", devices) for devices in (1, 2, 4, 8, 16, 64, 256, 1000)]
    return [point("single", 1), *made, skipped("tensor", 16, "12 heads"), skipped("tensor", 64, "x")]


def frame_of(records):
    frame = links_frame([r for r in records if r["status"] == "ok"])
    return frame.assign(label=frame.strategy)


def test_finds_the_devices_of_least_latency_at_every_rate(records):
    table = scale.best_table(frame_of(records))

    assert list(table["rate (Mbps)"]) == ["1", "1000"]
    assert list(table["best P"]) == [4, 64]
    assert list(table["still gains"]) == ["no", "no"]
    assert table["speed-up"][0] == f"{SINGLE_S / latency_s(4, 1e6):.2f}"


def test_says_when_the_most_devices_that_fit_are_the_best(records):
    few = [r for r in records if r["spec"]["devices"] <= 16]

    assert list(scale.best_table(frame_of(few))["still gains"]) == ["no", "yes"]


def test_lists_the_first_number_of_devices_that_does_not_fit(records):
    limits = scale.limits_table(records)

    assert limits.to_dict("records") == [
        {"model": "vit-base-16", "strategy": "tensor", "first P left out": 16, "reason": "12 heads"}
    ]


def test_accepts_a_sound_study(records):
    frame = frame_of(records)

    assert scale.check_reasons(records).passed
    assert scale.check_one_device(frame).passed
    assert scale.check_faster_links(frame).passed


def test_judges_what_cannot_be(records):
    slow_alone = point("prism", 1, lambda devices, rate: 2 * SINGLE_S)
    slow_on_fast_link = point("prism", 2, lambda devices, rate: rate)

    assert not scale.check_reasons([*records, skipped("prism", 3, None)]).passed
    assert not scale.check_one_device(frame_of([*records, slow_alone])).passed
    assert not scale.check_one_device(frame_of([point("single", 1)]).iloc[:0]).passed
    assert not scale.check_faster_links(frame_of([*records, slow_on_fast_link])).passed


def test_writes_tables_and_a_figure_a_model(records, tmp_path, capsys):
    lines = "".join(
        json.dumps({**made, "id": f"{i}"}) + "\n" for i, made in enumerate(records)
    )
    (tmp_path / "scale.jsonl").write_text(lines, encoding="utf-8")

    status = main(["scale", "--results", str(tmp_path), "--out", str(tmp_path / "out")])

    assert status == 0, capsys.readouterr().out
    text = (tmp_path / "out" / "scale.md").read_text(encoding="utf-8")
    assert "| vit-base-16 | 8192 | voltage | 1000 | 64 |" in text
    assert "12 heads" in text
    assert (tmp_path / "out" / "scale-vit-base-16.png").stat().st_size > 10_000


def test_refuses_a_folder_without_records(tmp_path):
    with pytest.raises(InputError, match="scale.jsonl"):
        scale.reproduce(tmp_path)
