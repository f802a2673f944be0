"""What a latency-versus-bandwidth sweep says: cuts against one device, and crossings."""

import numpy as np
import pandas as pd

from thinwire_analysis.errors import InputError

MODEL_TOLERANCE_POINTS = 0.5
# A measured point may contradict the formula only within this distance of the single device:
# small matrix products reach a lower rate than large ones, which the formula does not know.
ORDER_MARGIN = 0.2


def single_latency_s(frame):
    """Median latency of the single device. Raises InputError when the sweep has none."""
    single = frame[frame.strategy == "single"]
    if single.empty:
        raise InputError("the latency sweep has no point with strategy single")
    return float(single.p50_s.median())


def single_flops_per_s(frame):
    """The rate at which the single device computed, in operations of convention paper a second."""
    single = frame[frame.strategy == "single"]
    return float(single.total_flops.iloc[0]) / single_latency_s(frame)


def cut_percent(frame, devices, segments, rate_mbps):
    """100 (1 - latency / single latency) of one PRISM point, from medians."""
    points = frame[
        (frame.strategy == "prism")
        & (frame.devices == devices)
        & (frame.segments == segments)
        & np.isclose(frame.rate_mbps, rate_mbps)
    ]
    if points.empty:
        raise InputError(f"no point prism P={devices} L={segments} at {rate_mbps:g} Mbps")
    return 100.0 * (1.0 - float(points.p50_s.iloc[0]) / single_latency_s(frame))


def crossing_mbps(rates_mbps, latencies_s, threshold_s):
    """The rate from which a falling curve lies below `threshold_s`.

    Between two settings the latency is taken as linear in 1 / rate, which is exact for an
    exchange that the computation waits for. Returns 0 when the whole curve lies below and
    infinity when it never gets there.
    """
    order = np.argsort(rates_mbps)
    rates = np.asarray(rates_mbps, dtype=float)[order]
    latencies = np.asarray(latencies_s, dtype=float)[order]
    above = latencies >= threshold_s
    if not above.any():
        return 0.0
    last = int(np.flatnonzero(above)[-1])
    if last == len(rates) - 1:
        return float("inf")
    share = (latencies[last] - threshold_s) / (latencies[last] - latencies[last + 1])
    inverse = 1.0 / rates[last] + share * (1.0 / rates[last + 1] - 1.0 / rates[last])
    return float(1.0 / inverse)


def voltage_crossing_mbps(frame, devices):
    """Where Voltage on `devices` gets faster than the single device, in Mbit/s."""
    curve = frame[(frame.strategy == "voltage") & (frame.devices == devices)]
    if curve.empty:
        raise InputError(f"no point voltage P={devices} in the latency sweep")
    return crossing_mbps(curve.rate_mbps, curve.p50_s, single_latency_s(frame))


def formula_latency_s(frame):
    """What each row would take at the single device's rate under unicast, without contention.

    The largest device's operations at that rate, and P - 1 copies of every payload one after
    the other. Returns a Series aligned with `frame`.
    """
    copies = frame.devices - 1
    bits = frame.exchanges * frame.bits_per_exchange * copies
    return frame.max_device_flops / single_flops_per_s(frame) + bits / (frame.rate_mbps * 1e6)


def order_violations(frame, margin=ORDER_MARGIN):
    """Rows whose median lies on the other side of the single device than the formula says.

    Rows whose formula lies within `margin` (relative) of the single device say nothing.
    """
    single_s = single_latency_s(frame)
    formula_s = formula_latency_s(frame)
    decided = (formula_s / single_s - 1.0).abs() > margin
    disagrees = (formula_s > single_s) != (frame.p50_s > single_s)
    return frame[decided & disagrees & (frame.strategy != "single")]


def cuts_table(series, published):
    """Published cuts beside ours, at the published rate.

    `series`: {name: frame}, for instance measured and modelled. One row a published claim.
    """
    rows = []
    for (devices, segments), cut in published.cuts.items():
        row = {"P": devices, "L": segments, "published cut (%)": f"{cut:.1f}"}
        for name, frame in series.items():
            ours = cut_percent(frame, devices, segments, published.rate_mbps)
            row[f"{name} (%)"] = f"{ours:.1f}"
            row[f"{name} - published (points)"] = f"{ours - cut:+.1f}"
        rows.append(row)
    return pd.DataFrame(rows)


def crossings_table(series, published):
    """From which rate on Voltage beats the single device, one row a number of devices."""
    counts = sorted(
        {int(p) for frame in series.values() for p in frame[frame.strategy == "voltage"].devices}
    )
    rows = []
    for devices in counts:
        row = {"P": devices, "published (Mbps)": published.voltage_crossing.get(devices, "")}
        for name, frame in series.items():
            row[f"{name} (Mbps)"] = _crossing_text(frame, devices)
        rows.append(row)
    return pd.DataFrame(rows)


def points_table(frame):
    """Every point: medians and p10-p90 in ms, and the cut against the single device in percent."""
    single_s = single_latency_s(frame)
    table = pd.DataFrame(
        {
            "strategy": frame.label,
            "P": frame.devices,
            "rate (Mbps)": frame.rate_mbps.map("{:g}".format),
            "p50 (ms)": (1e3 * frame.p50_s).map("{:.1f}".format),
            "p10 (ms)": (1e3 * frame.p10_s).map("{:.1f}".format),
            "p90 (ms)": (1e3 * frame.p90_s).map("{:.1f}".format),
            "compute p50 (ms)": (1e3 * frame.compute_p50_s).map("{:.1f}".format),
            "cut vs single (%)": (100 * (1 - frame.p50_s / single_s)).map("{:.1f}".format),
        }
    )
    return table.reset_index(drop=True)


def _crossing_text(frame, devices):
    rate = voltage_crossing_mbps(frame, devices)
    if rate == 0.0:
        return f"below {frame.rate_mbps.min():g}"
    return f"{rate:.0f}" if np.isfinite(rate) else f"above {frame.rate_mbps.max():g}"
