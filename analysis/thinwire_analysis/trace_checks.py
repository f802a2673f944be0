"""What has to hold in the TRACE reproduction."""

from dataclasses import dataclass

import numpy as np

from thinwire_analysis.checks import Check

# Communication counts as hidden when a device waits for less than this part of its latency,
# waiting that would remain on an unlimited link apart.
HIDDEN_SHARE = 0.02
RATIO_TOLERANCE = 0.05
COMPARED_LEVELS = (1024, 32)


def check_equal_cells(cells, tables, name, minimum):
    """Every numeric published cell of these tables equals ours to the printed digit."""
    compared = [c for c in cells if c["table"].startswith(tables) and c["equal"] is not None]
    differing = [f"{c['row']} ({c['ours']})" for c in compared if not c["equal"]]
    detail = f"{len(compared) - len(differing)} of {len(compared)}"
    if differing:
        detail += "; not " + ", ".join(differing)
    return Check(name, len(compared) >= minimum and not differing, detail)


def check_hidden(measured, rate_mbps):
    """trace-b waits for less than HIDDEN_SHARE of its latency beside skew, every level and P."""
    rows = _at(measured, rate_mbps)
    rows = rows[rows.strategy == "trace-b"]
    shares = (rows.wait_p50_s - rows.skew_p50_s).clip(lower=0) / rows.p50_s
    worst = float(shares.max()) if len(shares) else np.inf
    return Check(
        f"trace-b hides its communication at {rate_mbps:g} Mbps",
        worst < HIDDEN_SHARE,
        f"waiting beside skew at most {100 * worst:.2f} % of the latency (allowed "
        f"{100 * HIDDEN_SHARE:.0f}), {len(rows)} points",
    )


def check_ratios(rounds):
    """Latency of astra over trace-b lies within RATIO_TOLERANCE of the ratio of operations."""
    return [
        _ratio_check(devices, level, ratios(rounds, devices, level))
        for devices in (2, 3)
        for level in COMPARED_LEVELS
    ]


@dataclass(frozen=True)
class Ratio:
    """astra over trace-b: the median over rounds with its quartiles, and by operations."""

    measured: float
    low: float
    high: float
    rounds: int
    by_operations: float


def ratios(frame, devices, level):
    """The Ratio at K = level: the two are measured one after the other in every round (`repeat`).

    What both share in a round, such as a busy machine, cancels. NaN without rounds.
    """
    rows = frame[frame.devices == devices]
    astra = rows[rows.strategy == "astra"].set_index("repeat")
    trace = rows[(rows.strategy == "trace-b") & (rows.codewords == level)].set_index("repeat")
    by_time = (astra.p50_s / trace.p50_s).dropna()
    if by_time.empty:
        return Ratio(np.nan, np.nan, np.nan, 0, np.nan)
    low, median, high = np.percentile(by_time, [25, 50, 75])
    by_operations = float(astra.block_flops.iloc[0] / trace.block_flops.iloc[0])
    return Ratio(float(median), float(low), float(high), len(by_time), by_operations)


def _ratio_check(devices, level, ratio):
    away = ratio.measured / ratio.by_operations - 1
    return Check(
        f"astra / trace-b, P={devices} K={level}",
        bool(abs(away) <= RATIO_TOLERANCE),
        f"{ratio.measured:.3f} measured (quartiles {ratio.low:.3f} and {ratio.high:.3f}, "
        f"{ratio.rounds} rounds), {ratio.by_operations:.3f} by operations "
        f"({100 * away:+.1f} %, allowed {100 * RATIO_TOLERANCE:.0f})",
    )


def _at(frame, rate_mbps):
    return frame[np.isclose(frame.rate_mbps, rate_mbps)]
