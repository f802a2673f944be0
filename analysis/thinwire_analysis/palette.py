"""Colours and markers that stay apart for every eye and in grey (after Okabe and Ito)."""

SINGLE = "#000000"
COLOURS = {
    "single": SINGLE,
    "voltage": "#D55E00",
    "prism": "#0072B2",
    "astra": "#CC79A7",
    "trace-b": "#009E73",
    "trace-nb": "#E69F00",
    "tensor": "#56B4E9",
    "pipeline": "#F0E442",
}
MARKERS = {"voltage": "s", "prism": "o", "astra": "^", "trace-b": "D", "trace-nb": "v", "tensor": "P"}
SERIES = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")  # of one quantity
COMPUTE, WAIT, TRANSFER = "#0072B2", "#D55E00", "#F0E442"


def colour(strategy):
    """The colour of a strategy; grey for one without."""
    return COLOURS.get(strategy, "#999999")


def marker(strategy):
    """The marker of a strategy's points."""
    return MARKERS.get(strategy, "x")
