"""Scores as text: in the units in which the papers print them."""

import numpy as np

# metric: (factor, decimals, name with unit)
PRINTED = {
    "accuracy": (100, 2, "top-1 (%)"),
    "cloze": (100, 2, "cloze (%)"),
    "spearman": (100, 2, "Spearman (x 100)"),
    "pearson": (100, 2, "Pearson (x 100)"),
    "bits_per_byte": (1, 4, "bits per byte"),
    "bits_per_character": (1, 4, "bits per character"),
}
NONE = "–"


def metric_name(metric):
    """The metric with its unit, as axes and headers have it."""
    return PRINTED.get(metric, (1, 4, metric.replace("_", " ")))[2]


def factor(metric):
    """What a value is multiplied by to be printed."""
    return PRINTED.get(metric, (1, 4, ""))[0]


def value_text(metric, value):
    """`71.97`; a dash for no value."""
    return _text(metric, value, "")


def interval_text(metric, value, low, high):
    """`71.97 [71.10, 72.80]`"""
    return f"{value_text(metric, value)} [{value_text(metric, low)}, {value_text(metric, high)}]"


def change_text(metric, change, low, high):
    """`-1.20 [-1.50, -0.90]`: signed; `-1.20` where the interval is not known."""
    if not np.isfinite(low):
        return _text(metric, change, "+")
    return " ".join(
        [
            _text(metric, change, "+"),
            f"[{_text(metric, low, '+')}, {_text(metric, high, '+')}]",
        ]
    )


def row_text(row):
    """The value of a row of scored_frame with its interval."""
    return interval_text(row.metric, row.value, row.low, row.high)


def bits_text(bits):
    """`3.1 kbit`, with a unit that suits."""
    if bits is None or not np.isfinite(bits):
        return NONE
    for size, unit in ((1e6, "Mbit"), (1e3, "kbit")):
        if bits >= size:
            return (
                f"{bits / size:.3g} {unit}" if bits < 1000 * size else f"{bits / size:.0f} {unit}"
            )
    return f"{bits:.0f} bit"


def _text(metric, value, sign):
    if value is None or not np.isfinite(value):
        return NONE
    times, decimals, _ = PRINTED.get(metric, (1, 4, ""))
    shown = round(times * value, decimals) + 0.0  # no negative zero
    return f"{shown:{sign}.{decimals}f}"
