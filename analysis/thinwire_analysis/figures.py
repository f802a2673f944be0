"""Makes and saves figures: without a display, one look for all."""

import math
import textwrap
from contextlib import contextmanager
from dataclasses import dataclass

import matplotlib

matplotlib.use("Agg")  # writes files; there may be no display

from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: E402

ERROR_BAR = {"elinewidth": 0.8, "ecolor": "#555555", "capsize": 1.5}
# A decade must be this long for labels at its 2 and 5.
MINOR_INCHES = {"x": 1.4, "y": 0.6}
LEGEND_ROW_INCHES = 0.17
LEGEND_MARGIN_INCHES = 0.12
# Text stays text: it scales with the page, can be searched, and takes the reader's colours.
SVG_STYLE = {"svg.fonttype": "none", "svg.hashsalt": "thinwire"}


@dataclass(frozen=True)
class Sheet:
    """Where a figure goes and how its panels are laid out.

    target: a path or a binary stream   format: png or svg, by default the path's suffix
    columns: panels a row, by default all   panel_inches: the widest that a panel may get
    titled: False where the page around the figure carries its title
    """

    target: object
    format: str = None
    columns: int = None
    panel_inches: float = None
    titled: bool = True


@contextmanager
def panels(sheet, title, count, *, size=(4.6, 3.8), share_y=False):
    """Yields `count` axes of `size` inches; writes the file, one legend below, once drawn.

    sheet: a Sheet, or a path for a picture with all panels in a row
    """
    sheet = sheet if isinstance(sheet, Sheet) else Sheet(sheet)
    columns = min(count, sheet.columns or count)
    rows = -(-count // columns)
    width = columns * min(size[0], sheet.panel_inches or size[0])
    figure, grid = plt.subplots(
        rows, columns, figsize=(width, size[1] * rows), sharey=share_y, squeeze=False
    )
    axes = list(grid.flat)
    for unused in axes[count:]:
        unused.set_visible(False)
    yield axes[:count]
    for first_of_row in axes[columns:count:columns]:
        first_of_row.set_ylabel(first_of_row.get_ylabel() or axes[0].get_ylabel())
    bottom = _legend(figure, axes[:count], width)
    figure.set_size_inches(width, size[1] * rows + max(0.0, bottom - LEGEND_ROW_INCHES))
    if sheet.titled:
        figure.suptitle(textwrap.fill(title, int(11 * width)), fontsize=11)
    figure.tight_layout(rect=(0, bottom / figure.get_figheight(), 1, 1))
    _save(figure, sheet)
    plt.close(figure)


def _legend(figure, axes, width):
    """One legend for all panels at the figure's foot; returns its height in inches."""
    entries = {}
    for axis in axes:
        handles, labels = axis.get_legend_handles_labels()
        entries.update(zip(labels, handles))
    if not entries:
        return 0.0
    entry_inches = 0.6 + 0.07 * max(map(len, entries))
    columns = max(1, min(len(entries), int(width / entry_inches)))
    figure.legend(
        entries.values(), entries.keys(), loc="lower center", ncol=columns, fontsize=8,
        frameon=False, columnspacing=1.2,
    )  # fmt: skip
    return LEGEND_MARGIN_INCHES + LEGEND_ROW_INCHES * -(-len(entries) // columns)


def _save(figure, sheet):
    vector = sheet.format == "svg" or str(sheet.target).endswith(".svg")
    with matplotlib.rc_context(SVG_STYLE):
        figure.savefig(
            sheet.target, dpi=160, format=sheet.format, transparent=vector and not sheet.titled,
            metadata={"Date": None} if vector else None,
        )  # fmt: skip


def use_log_scale(axis, which):
    """A logarithmic x or y axis with plain numbers; 2 and 5 are labelled where there is room."""
    getattr(axis, f"set_{which}scale")("log")
    scale = getattr(axis, f"{which}axis")
    low, high = sorted(getattr(axis, f"get_{which}lim")())
    scale.set_major_formatter(FuncFormatter(_plain))
    short = low > 0 and _inches(axis, which) > MINOR_INCHES[which] * math.log10(high / low)
    scale.set_minor_locator(LogLocator(subs=(2, 5) if short else ()))
    scale.set_minor_formatter(FuncFormatter(_plain) if short else NullFormatter())
    major = {name: matplotlib.rcParams[f"{which}tick.major.{name}"] for name in ("size", "pad")}
    scale.set_tick_params(
        which="minor", labelsize=matplotlib.rcParams[f"{which}tick.labelsize"],
        length=major["size"], pad=major["pad"],
    )  # fmt: skip


def _inches(axis, which):
    place = axis.get_position()
    if which == "x":
        return place.width * axis.figure.get_figwidth()
    return place.height * axis.figure.get_figheight()


def _plain(value, _position):
    return f"{value:,.12g}".replace(",", "\u202f")
