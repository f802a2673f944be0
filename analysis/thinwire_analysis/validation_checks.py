"""What has to hold between the link model, the clocks and a kernel-shaped network."""

import numpy as np

from thinwire_analysis.checks import Check

# Below, what a message costs on the way through MPI and the kernel is no small part of the time.
CLEAR_S = 5e-3
KERNEL_TOLERANCE, THROTTLED_TOLERANCE, RUN_TOLERANCE, SIMGRID_TOLERANCE = 0.05, 0.03, 0.10, 0.02
EXACT = 1e-9


def check_all(links, cables, runs):
    """Every verdict of the study, in the order of its summary."""
    return [
        check_complete(links),
        check_emulated(links),
        check_throttled(links),
        check_kernel(links),
        check_simgrid(links),
        check_bytes(links, cables),
        check_runs(runs),
    ]


def clear(links, medium):
    """The rows of a medium at points where the formula is above CLEAR_S."""
    return links[(links.medium == medium) & (links.formula_s > CLEAR_S)]


def check_complete(links):
    """Every medium has every point."""
    counts = links.groupby("medium").size()
    points = len(links.drop_duplicates(["devices", "rate_mbps", "bytes"]))
    missing = [f"{name} {count}" for name, count in counts.items() if count != points]
    detail = f"{points} points on {len(counts)} media"
    if missing:
        detail += "; fewer: " + ", ".join(missing)
    return Check("complete", not missing, detail)


def check_emulated(links):
    """The emulated clock's arrivals are the formula's."""
    rows = links[links.medium == "emulated"]
    worst = float(rows.error.abs().max()) if len(rows) else np.inf
    return Check("emulated = formula", worst <= EXACT, f"at most {worst:.1e} apart")


def check_throttled(links):
    """The throttled clock's median error, where the formula is above CLEAR_S."""
    return _median_check(
        "throttled against the formula", clear(links, "throttled").error, THROTTLED_TOLERANCE
    )


def check_kernel(links):
    """The emulated clock's median error against the kernel-shaped network."""
    times = links.pivot(index=["devices", "rate_mbps", "bytes"], columns="medium", values="time_s")
    rows = clear(links, "native").set_index(["devices", "rate_mbps", "bytes"])
    error = times.emulated.reindex(rows.index) / rows.time_s - 1
    return _median_check("emulated against the kernel's link", error, KERNEL_TOLERANCE)


def check_simgrid(links):
    """SimGrid's flows at the rate that TCP leaves agree with the formula."""
    return _median_check(
        "SimGrid (CM02, TCP factor) against the formula",
        clear(links, "cm02-tcp").error,
        SIMGRID_TOLERANCE,
    )


def check_bytes(links, cables):
    """The payloads really crossed the cables, and no shaper dropped any."""
    rows = links[links.medium == "native"]
    short, dropped = [], 0
    for (devices, rate_mbps), group in rows.groupby(["devices", "rate_mbps"]):
        payload = int((group.bytes * group.passes).sum()) * (int(devices) - 1)
        for device in cables[devices, rate_mbps]["devices"]:
            dropped += device["dropped_frames"]
            if min(device["sent_bytes"], device["received_bytes"]) < payload:
                short.append(f"P={devices} at {rate_mbps:g} Mbps")
    total = sum(device["sent_bytes"] for found in cables.values() for device in found["devices"])
    detail = f"{total / 1e6:.0f} MB on the cables, {dropped} frames dropped"
    if short:
        detail += "; fewer bytes than the payloads have: " + ", ".join(dict.fromkeys(short))
    passed = len(rows) > 0 and not short and dropped == 0
    return Check("payloads crossed the cables", passed, detail)


def check_runs(runs):
    """Whole inferences: emulated against the kernel-shaped network, every point."""
    worst = float(runs.error.abs().max()) if len(runs) else np.inf
    shown = "; ".join(
        f"{row.label} at {row.rate_mbps:g} Mbps {100 * row.error:+.1f} %"
        for row in runs.itertuples()
    )
    return Check(
        "whole runs, emulated against the kernel's link",
        worst <= RUN_TOLERANCE,
        f"{shown} (allowed {100 * RUN_TOLERANCE:.0f} %)",
    )


def _median_check(name, errors, tolerance):
    errors = np.abs(np.asarray(errors, dtype=float))
    if not len(errors):
        return Check(name, False, f"no point with a formula above {1e3 * CLEAR_S:g} ms")
    median, worst = float(np.median(errors)), float(errors.max())
    return Check(
        name,
        median <= tolerance,
        f"median error {100 * median:.2f} %, largest {100 * worst:.1f} %, {len(errors)} points "
        f"above {1e3 * CLEAR_S:g} ms (allowed {100 * tolerance:.0f} % in the median)",
    )
