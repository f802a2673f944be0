"""Colours and markers that stay apart for every eye and in grey (after Okabe and Ito, and Tol)."""

from dataclasses import dataclass

SINGLE = "#000000"
COLOURS = {
    "single": SINGLE,
    "voltage": "#D55E00",
    "prism": "#0072B2",
    "astra": "#CC79A7",
    "trace-b": "#009E73",
    "trace-nb": "#E69F00",
    "trace-2a": "#332288",
    "trace-1b": "#882255",
    "tensor": "#56B4E9",
    "pipeline": "#999933",
}
MARKERS = {
    "voltage": "s",
    "prism": "o",
    "astra": "^",
    "trace-b": "D",
    "trace-nb": "v",
    "trace-2a": "<",
    "trace-1b": ">",
    "tensor": "P",
    "pipeline": "X",
}
VARIANT_MARKERS = "o^Dvsp*h"
SERIES = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")  # of one quantity
COMPUTE, WAIT, TRANSFER = "#0072B2", "#D55E00", "#F0E442"
HIDDEN = "#F0E442"
FAINTEST = 0.45
# For what is no strategy: variants of the only one in a figure, numbers of devices.
VARIANT_COLOURS = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#332288", "#999933",
)  # fmt: skip


@dataclass(frozen=True)
class Style:
    """How a curve or a row of bars looks."""

    colour: str
    alpha: float
    marker: str


def colour(strategy):
    """The colour of a strategy; grey for one without."""
    return COLOURS.get(strategy, "#999999")


def marker(strategy):
    """The marker of a strategy's points."""
    return MARKERS.get(strategy, "x")


def curve_styles(frame):
    """{label: Style} of a frame's curves, in the order of a legend.

    A strategy keeps its colour; its variants (L, K) get fainter, each with a marker of its own.
    Where there is but one strategy, colours tell its variants apart.
    """
    order = ["strategy", "segments", "codewords", "label"]
    curves = frame[order].drop_duplicates("label").sort_values(
        order, ascending=[True, True, False, True]
    )
    rank = {name: place for place, name in enumerate(COLOURS)}
    curves = curves.sort_values(
        "strategy", key=lambda names: names.map(lambda n: rank.get(n, len(rank))), kind="stable"
    )
    styles = {}
    alone = curves[curves.strategy != "single"].strategy.nunique() == 1 and len(curves) > 2
    for strategy, variants in curves.groupby("strategy", sort=False):
        for index, label in enumerate(variants.label):
            fade = index / max(1, len(variants) - 1)
            own = VARIANT_MARKERS[index % len(VARIANT_MARKERS)]
            distinct = alone and 1 < len(variants) <= len(VARIANT_COLOURS)
            styles[label] = Style(
                colour=VARIANT_COLOURS[index] if distinct else colour(strategy),
                alpha=1.0 if distinct else 1.0 - (1.0 - FAINTEST) * fade,
                marker=marker(strategy) if len(variants) == 1 else own,
            )
    return styles
