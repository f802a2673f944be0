"""Verdicts that end a reproduction: what was expected, what was found."""

from dataclasses import dataclass

from thinwire_analysis import latency


@dataclass(frozen=True)
class Check:
    """One line of the summary; `passed` decides the exit status."""

    name: str
    passed: bool
    detail: str

    def __str__(self):
        return f"{'pass' if self.passed else 'FAIL'}  {self.name}: {self.detail}"


def check_modelled_cuts(frame, published):
    """The modelled cuts lie within half a point of the published ones."""
    checks = []
    for (devices, segments), cut in published.cuts.items():
        ours = latency.cut_percent(frame, devices, segments, published.rate_mbps)
        checks.append(
            Check(
                f"modelled cut at {published.rate_mbps:g} Mbps, P={devices} L={segments}",
                abs(ours - cut) <= latency.MODEL_TOLERANCE_POINTS,
                f"{ours:.2f} % (published {cut} %, "
                f"allowed {latency.MODEL_TOLERANCE_POINTS} points)",
            )
        )
    return checks


def check_measured_order(frame):
    """Voltage above and PRISM below the single device wherever the formula is clear about it."""
    broken = latency.order_violations(frame)
    margin = f"{100 * latency.ORDER_MARGIN:.0f} %"
    if broken.empty:
        detail = f"as the formula says wherever it is more than {margin} away from one device"
    else:
        detail = "otherwise than the formula: " + "; ".join(
            f"{row.label} P={row.devices} at {row.rate_mbps:g} Mbps" for row in broken.itertuples()
        )
    return Check("measured order around the single device", broken.empty, detail)


def check_counts(records):
    """Counted operations and bits equal the predicted ones, as integers, in every measurement."""
    measured = [r for r in records if r["source"] == "measured" and r["status"] == "ok"]
    bad = [r for r in measured if r["checks"]["counted_equals_predicted"] is not True]
    return Check(
        "counted = predicted",
        bool(measured) and not bad,
        f"{len(measured) - len(bad)} of {len(measured)} measured records",
    )


def check_finished(records, name):
    """No point of a sweep failed or was skipped."""
    bad = [r for r in records if r["status"] != "ok"]
    reasons = "; ".join(f"{r['status']}: {r.get('reason')}" for r in bad[:3])
    detail = f"{len(records) - len(bad)} of {len(records)} points"
    return Check(f"{name} finished", not bad, detail + (f" ({reasons})" if reasons else ""))
