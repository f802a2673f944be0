"""Link rates on an axis: whole numbers of 10^6 or of 2^20 bit/s, as the sweep has them."""

import numpy as np

MIBPS_PER_MBPS = 1e6 / 2**20
# The rates at which PRISM and TRACE state their latencies; shown where a sweep has them.
PAPER_RATES_MBPS = (200.0, 10 * 2**20 / 1e6)


def rate_unit(rates_mbps):
    """(factor, unit): what to multiply rates in Mbit/s by, and the unit that they then have."""
    rates = np.asarray(rates_mbps, dtype=float)
    decimal = _whole(rates)
    binary = _whole(rates * MIBPS_PER_MBPS)
    return (MIBPS_PER_MBPS, "Mbps of 2^20 bit/s") if binary > decimal else (1.0, "Mbps")


def rate_text(rate_mbps):
    """A rate for people: `200 Mbps`, `10 Mbps of 2^20 bit/s`, `unlimited`."""
    if not np.isfinite(rate_mbps):
        return "unlimited"
    factor, unit = rate_unit([rate_mbps])
    return f"{rate_mbps * factor:.4g} {unit}"


def reference_rate(rates_mbps):
    """The rate at which a sweep is shown when one has to stand for all: a paper's, or the middle.

    NaN stands for an unlimited link and is chosen only when there is no other.
    """
    finite = np.unique([rate for rate in rates_mbps if np.isfinite(rate)])
    if not finite.size:
        return float("nan")
    for wanted in PAPER_RATES_MBPS:
        found = finite[np.isclose(finite, wanted)]
        if found.size:
            return float(found[0])
    return float(finite[len(finite) // 2])


def at_rate(frame, rate_mbps):
    """The rows of a frame at one rate; NaN chooses those of an unlimited link."""
    if np.isnan(rate_mbps):
        return frame[frame.rate_mbps.isna()]
    return frame[np.isclose(frame.rate_mbps, rate_mbps)]


def _whole(values):
    return int(np.isclose(values, np.round(values), rtol=1e-9).sum())
