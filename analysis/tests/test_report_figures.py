import io

import numpy as np
import pytest

from synthetic import PUBLISHED, latency_sweep, record
from thinwire_analysis import figures, palette
from thinwire_analysis.figures import Sheet
from thinwire_analysis.frame import links_frame
from thinwire_analysis.html_report.catalogue import folder_figures, plain
from thinwire_analysis.html_report.collect import Folder
from thinwire_analysis.html_report.svg import inline_svg
from thinwire_analysis.latency_figure import draw_latency_bars
from thinwire_analysis.trace_figures import draw_breakdown
from thinwire_analysis.tradeoff_figure import draw_accuracy, draw_speedup


@pytest.fixture
def draw(monkeypatch):
    """Draws and returns the figure object."""
    kept = {}
    monkeypatch.setattr(figures.plt, "close", lambda figure: kept.update(figure=figure))

    def drawn(function, *arguments, columns=2):
        function(*arguments, Sheet(io.BytesIO(), "svg", columns=columns))
        return kept["figure"]

    return drawn


def parts(strategy, wait_s, hidden_s=0.0, **more):
    made = record(strategy, 2, links=[(1e8, [0.1 + wait_s], [0.1])], **more)
    for name, value in (("wait_s", wait_s), ("hidden_s", hidden_s)):
        made["time"]["links"][0][name] = {"p50": value}
    return made


def test_bars_are_medians_in_milliseconds_with_the_published_star(draw):
    frame = links_frame(latency_sweep(160e9))

    axis = draw(draw_latency_bars, frame, PUBLISHED, "title").axes[0]

    heights = {bars.get_label(): bars[1].get_height() for bars in axis.containers}
    voltage = frame[(frame.label == "voltage") & (frame.devices == 2) & (frame.rate_mbps == 200)]
    assert heights["voltage"] == pytest.approx(1e3 * voltage.p50_s.iloc[0])
    lines = {line.get_label(): line for line in axis.get_lines()}
    assert lines["single device"].get_ydata()[0] == pytest.approx(219.67, abs=0.01)
    star = lines["published cut at 200 Mbps, L = 10"]
    assert (star.get_xdata()[0], star.get_ydata()[0]) == (1, pytest.approx(124.55, abs=0.01))


def test_error_bars_reach_from_p10_to_p90(draw):
    samples = [0.1 * i for i in range(1, 12)]  # 0.1 ... 1.1: p10 = 0.2, p50 = 0.6, p90 = 1.0
    frame = links_frame([record("voltage", 2, links=[(1e8, samples, samples)])])

    axis = draw(draw_latency_bars, frame, None, "title").axes[0]

    segments = axis.collections[0].get_segments()[0]
    assert segments[:, 1] == pytest.approx([200, 1000])


def test_speedup_is_single_over_split(draw):
    records = [
        record(links=[(1e8, [0.3], [0.3])]),
        record("prism", 2, 10, links=[(1e8, [0.2], [0.1])]),
        record("prism", 2, 20, links=[(1e8, [0.1], [0.1])]),
    ]
    for made, ratio in zip(records, (None, 10.0, 5.0)):
        made["traffic"]["compression_rate"] = ratio

    axis = draw(draw_speedup, links_frame(records), [100.0], "title").axes[0]

    curve = axis.containers[0].lines[0]
    assert list(curve.get_xdata()) == [5.0, 10.0]
    assert list(curve.get_ydata()) == pytest.approx([3.0, 1.5])


def test_accuracy_has_its_interval(draw):
    made = record("prism", 2, 10, links=[(1e8, [0.2], [0.1])])
    made["traffic"]["compression_rate"] = 10.0
    made["accuracy"] = {"metric": "F1", "value": 0.8, "samples": 9, "interval_95": [0.7, 0.85]}

    axis = draw(draw_accuracy, links_frame([made]), "title").axes[0]

    assert axis.get_ylabel() == "F1"
    assert axis.containers[0].lines[2][0].get_segments()[0][:, 1] == pytest.approx([0.7, 0.85])


def test_a_bar_that_would_dwarf_the_others_is_cut_and_says_so(draw):
    records = [parts("voltage", 9.9), parts("astra", 0.1), parts("prism", 0.2), parts("tensor", 0.1)]

    axis = draw(draw_breakdown, links_frame(records), 100.0, "title").axes[0]

    assert axis.get_xlim()[1] < 1000
    assert "10000 ms (cut)" in [text.get_text() for text in axis.texts]


def test_hidden_transfer_lies_beside_the_stack(draw):
    records = [parts("voltage", 0.1), parts("astra", 0.0, hidden_s=0.05)]

    axis = draw(draw_breakdown, links_frame(records), 100.0, "title").axes[0]

    bars = {container.get_label(): container for container in axis.containers}
    assert [bar.get_width() for bar in bars["hidden transfer"]] == pytest.approx([0, 50])
    assert [bar.get_x() for bar in bars["waiting"]] == pytest.approx([100, 100])


@pytest.mark.parametrize("columns", [1, 2])
def test_every_panel_of_every_figure_says_what_its_axes_are(draw, columns):
    sweep = latency_sweep(160e9)
    for made, ratio in zip(sweep, (None, 1.0, 1.0, 9.9, 6.6)):
        made["traffic"]["compression_rate"] = ratio
        made["time"]["nominal_communication_s"] = [0.1] * 10
        for link in made["time"]["links"]:
            link["wait_s"] = {"p50": 0.01}
    found = folder_figures(Folder("x", {"a.jsonl": sweep}), PUBLISHED)
    assert [figure.kind for figure in found] == ["latency", "speedup", "communication", "breakdown"]

    for figure in found:
        shown = [axis for axis in draw(figure.draw, columns=columns).axes if axis.get_visible()]
        assert all(axis.get_xlabel() for axis in shown), figure.kind
        if figure.kind != "breakdown":  # whose rows are named
            assert all(axis.get_ylabel() for axis in shown[::columns]), figure.kind
        assert len(figure.data) > 0


def test_variants_of_a_strategy_share_its_colour_beside_another_strategy():
    frame = links_frame(latency_sweep(160e9) + [record("prism", 2, 20, links=[(1e8, [1], [1])])])

    styles = palette.curve_styles(frame)

    assert list(styles) == ["single", "voltage", "prism, L = 10", "prism, L = 20"]
    ten, twenty = styles["prism, L = 10"], styles["prism, L = 20"]
    assert ten.colour == twenty.colour == palette.colour("prism")
    assert ten.alpha > twenty.alpha and ten.marker != twenty.marker


def test_the_pages_figures_take_its_colours_and_have_names_of_their_own():
    figure = folder_figures(Folder("x", {"a.jsonl": latency_sweep(160e9)}), None)[0]

    first, second = inline_svg(figure, "one")[0], inline_svg(figure, "two")[0]

    assert "var(--plot-red)" in first and palette.colour("voltage").lower() not in first
    assert first.replace("one-w", "two-w") == second
    assert "<metadata" not in first and "http" not in first


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (12345678.0, "12345678"), (246.84, "246.8"), (0.0012345, "0.001234"), (np.nan, "–"), (None, "–")],
)
def test_numbers_have_four_digits_and_no_exponent(value, text):
    assert plain(value) == text
