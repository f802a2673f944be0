import matplotlib.image
import pytest

from synthetic import PUBLISHED
from thinwire_analysis import figures, latency_figure
from thinwire_analysis.frame import links_frame


@pytest.fixture
def drawn(sweep, tmp_path, monkeypatch):
    """The figure object and the file that drawing left."""
    kept = {}
    monkeypatch.setattr(figures.plt, "close", lambda figure: kept.update(figure=figure))
    path = tmp_path / "latency.png"
    latency_figure.draw_latency(links_frame(sweep), PUBLISHED, "title", path)
    return kept["figure"], path


def test_writes_a_picture_that_fits_a_readme(drawn):
    height, width = matplotlib.image.imread(drawn[1]).shape[:2]

    assert 1000 < width < 2000
    assert 400 < height < 1000


def test_has_a_panel_a_number_of_devices_with_labelled_axes(drawn):
    axes = drawn[0].axes

    assert [axis.get_title() for axis in axes] == ["P = 2 devices", "P = 3 devices"]
    assert all(axis.get_xlabel() == "link rate (Mbps)" for axis in axes)
    assert axes[0].get_ylabel() == "latency of one inference (ms)"


def test_draws_medians_in_milliseconds(drawn):
    curves = {line.get_label(): line for line in drawn[0].axes[0].get_lines()}

    published = "published cut at 200 Mbps, L = 10"
    assert set(curves) == {"single device", "voltage", "prism, L = 10", published}
    assert curves["single device"].get_ydata()[0] == pytest.approx(219.67, abs=0.01)
    assert curves[published].get_ydata()[0] == pytest.approx(124.55, abs=0.01)
    assert len(curves["voltage"].get_xdata()) == 10


def test_every_point_lies_within_the_axes(drawn):
    for axis in drawn[0].axes:
        bottom, top = axis.get_ylim()

        assert bottom == 0
        assert all(max(line.get_ydata()) < top for line in axis.get_lines())
