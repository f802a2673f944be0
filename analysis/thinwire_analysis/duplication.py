"""What the scaling-aware softmax saves over really repeated means."""

import pandas as pd

from thinwire_analysis.errors import InputError


def duplication_table(frame):
    """One row a (P, L): compute time and operations of `duplicate` over `on`.

    Times are medians of the compute time of the device that ends last; operations are totals over
    the devices (convention paper). `off` does the work of `on`: its ratio shows the noise.
    """
    rows = []
    for (devices, segments), group in frame.groupby(["devices", "segments"]):
        forms = {scaling: part.iloc[0] for scaling, part in group.groupby("scaling")}
        missing = {"on", "off", "duplicate"} - set(forms)
        if missing:
            names = ", ".join(sorted(missing))
            raise InputError(f"prism P={devices} L={segments}: no point with scaling {names}")
        rows.append(_row(devices, segments, forms))
    return pd.DataFrame(rows)


def _row(devices, segments, forms):
    on, off, duplicate = forms["on"], forms["off"], forms["duplicate"]
    return {
        "P": devices,
        "L": segments,
        "on (GFLOPs)": f"{on.total_flops / 1e9:.2f}",
        "duplicate (GFLOPs)": f"{duplicate.total_flops / 1e9:.2f}",
        "operations, duplicate / on": f"{duplicate.total_flops / on.total_flops:.3f}",
        "on (ms)": f"{1e3 * on.compute_p50_s:.1f}",
        "duplicate (ms)": f"{1e3 * duplicate.compute_p50_s:.1f}",
        "time, duplicate / on": f"{duplicate.compute_p50_s / on.compute_p50_s:.3f}",
        "time, off / on": f"{off.compute_p50_s / on.compute_p50_s:.3f}",
    }
