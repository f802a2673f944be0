"""Tables of the TRACE reproduction that set several records side by side."""

import numpy as np
import pandas as pd

from thinwire_analysis.latency import crossing_mbps
from thinwire_analysis.trace_checks import COMPARED_LEVELS, ratios


def ratios_table(rounds, cells):
    """Speed-up of trace-b over astra: measured, by operations of a block, published (`cells`)."""
    rows = []
    for devices in (2, 3):
        for level in COMPARED_LEVELS:
            ratio = ratios(rounds, devices, level)
            rows.append(
                {
                    "P": devices,
                    "K": level,
                    "measured": f"{ratio.measured:.3f}",
                    "quartiles": f"{ratio.low:.3f}, {ratio.high:.3f}",
                    "by operations": f"{ratio.by_operations:.3f}",
                    "published": _published_ratio(cells, devices, level),
                }
            )
    return pd.DataFrame(rows)


def _published_ratio(cells, devices, level):
    place = {"table": f"latency_p{devices}", "row": f"TRACE-B K={level}", "column": "over_astra"}
    found = (c["published"] for c in cells if place.items() <= c.items())
    return next(found, None) or "-"


def topologies_table(frame):
    """Modelled latency in ms: one row a strategy, P and rate, one column a topology."""
    rows = []
    split = frame[frame.devices > 1]
    for (label, devices, rate), part in split.groupby(
        ["label", "devices", "rate_mbps"], sort=False
    ):
        row = {"strategy": label, "P": devices, "rate (Mbps)": f"{rate:g}"}
        for topology in ("broadcast", "unicast", "shared"):
            chosen = part[part.topology == topology]
            row[f"{topology} (ms)"] = f"{1e3 * chosen.p50_s.iloc[0]:.1f}" if len(chosen) else "-"
        rows.append(row)
    return pd.DataFrame(rows)


def tensor_table(frame):
    """From which rate on a split beats one device; PRISM cites 1000 Mbps for tensor at P = 6."""
    rows = []
    for model in frame.model.unique():
        part = frame[frame.model == model]
        single_s = float(part[part.strategy == "single"].p50_s.iloc[0])
        for devices in sorted(part[part.strategy == "tensor"].devices.unique()):
            row = {"model": model, "P": devices}
            for strategy in ("tensor", "voltage"):
                curve = part[(part.strategy == strategy) & (part.devices == devices)]
                row[f"{strategy} faster from (Mbps)"] = _crossing(curve, single_s)
            rows.append(row)
    return pd.DataFrame(rows)


def _crossing(curve, single_s):
    rate = crossing_mbps(curve.rate_mbps, curve.p50_s, single_s)
    if rate == 0.0:
        return f"below {curve.rate_mbps.min():g}"
    return f"{rate:.0f}" if np.isfinite(rate) else f"above {curve.rate_mbps.max():g}"


def share_table(frame):
    """The share of communication in Voltage's latency."""
    split = frame[frame.strategy == "voltage"].sort_values("rate_mbps")
    return pd.DataFrame(
        {
            "rate (Mbps)": split.rate_mbps.map("{:g}".format),
            "compute (ms)": (1e3 * split.compute_p50_s).map("{:.0f}".format),
            "waiting (ms)": (1e3 * split.wait_p50_s).map("{:.0f}".format),
            "communication (%)": (100 * split.wait_p50_s / split.p50_s).map("{:.0f}".format),
            "cited (%)": "60 to 93",
        }
    ).reset_index(drop=True)
