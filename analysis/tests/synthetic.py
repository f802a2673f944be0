"""Records as thinwire writes them, made by the formulas of the link under unicast."""

import numpy as np

from thinwire_analysis.published import PublishedLatency

HIDDEN, LAYERS, TOKENS = 768, 12, 197
RATES_MBPS = range(100, 1001, 100)
SINGLE_FLOPS = 35146568448
TOTAL_FLOPS = {
    ("single", 1, 0): SINGLE_FLOPS,
    ("voltage", 2, 0): 40733021952,
    ("voltage", 3, 0): 46319475456,
    ("prism", 2, 10): 35071034112,
    ("prism", 3, 10): 36039598848,
}
PUBLISHED = PublishedLatency(
    rate_mbps=200.0, cuts={(2, 10): 43.3, (3, 10): 52.6}, voltage_crossing={2: "about 400"}
)


def statistics(samples):
    """The S object of a record."""
    p50, p90, p99 = (float(v) for v in np.percentile(samples, [50, 90, 99]))
    return {
        "min": min(samples), "mean": float(np.mean(samples)), "sd": float(np.std(samples)),
        "p50": p50, "p90": p90, "p99": p99, "max": max(samples), "samples": list(samples),
    }  # fmt: skip


def record(strategy="single", devices=1, segments=0, *, links, total_flops=SINGLE_FLOPS, **more):
    """One record. `links`: (rate in bit/s or None, latency samples, compute samples) each."""
    published_rows = segments if strategy == "prism" else TOKENS / devices
    spec = {
        "model": "vit-base-16", "strategy": strategy, "devices": devices,
        "segments": segments or None, "scaling": more.pop("scaling", "on"),
    }  # fmt: skip
    return {
        "schema": "thinwire.result/1",
        "id": f"{strategy}-{devices}-{segments}-{spec['scaling']}",
        "status": "ok",
        "reason": None,
        "source": "measured",
        "spec": spec,
        "operations": {
            "total_flops": total_flops,
            "device_flops": [total_flops // devices] * devices,
        },
        "traffic": {
            "exchanges": 0 if devices == 1 else LAYERS,
            "nominal_bits_per_exchange": 0 if devices == 1 else 32 * HIDDEN * published_rows,
        },
        "time": {
            "links": [
                {
                    "link": {"rate_bit_per_s": rate, "latency_s": 0.0, "topology": "unicast"},
                    "latency_s": statistics(latency),
                    "compute_s": statistics(compute),
                }
                for rate, latency, compute in links
            ]
        },
        "checks": {"counted_equals_predicted": True},
        "environment": {"cpu": "a processor", "cores": 2},
        **more,
    }


def latency_sweep(flops_per_s):
    """Single, Voltage and PRISM (L = 10) for P = 2 and 3 over RATES_MBPS, without noise."""
    return [
        _formula_record(strategy, devices, segments, total, flops_per_s)
        for (strategy, devices, segments), total in TOTAL_FLOPS.items()
    ]


def duplication_sweep():
    """`duplicate` takes 1.2 times the time and 1.25 times the operations of `on`."""
    costs = {"on": (0.100, 40), "off": (0.101, 40), "duplicate": (0.120, 50)}
    return [
        record(
            "prism", devices, 10, links=[(None, [time_s], [time_s])], scaling=scaling,
            total_flops=int(flops * 1e9),
        )
        for devices in (2, 3)
        for scaling, (time_s, flops) in costs.items()
    ]  # fmt: skip


def _formula_record(strategy, devices, segments, total, flops_per_s):
    compute_s = total / devices / flops_per_s
    rows = segments if strategy == "prism" else TOKENS / devices
    bits = 0 if devices == 1 else LAYERS * (devices - 1) * 32 * HIDDEN * rows
    links = [(mbps * 1e6, [compute_s + bits / (mbps * 1e6)], [compute_s]) for mbps in RATES_MBPS]
    return record(strategy, devices, segments, links=links, total_flops=total)


def table_cells(unequal_totals=0):
    """What `thinwire tables --format json` writes: 38 totals and 3 cells of each other column."""
    tables = ["vit"] * 10 + ["bert"] * 7 + ["gpt2"] * 21
    cells = [
        _cell(
            table, f"row {i}", "gflops_total", "46.00", "45.99" if i < unequal_totals else "46.00"
        )
        for i, table in enumerate(tables)
    ]
    for column in ("pdplc_tokens", "cr", "comm_speedup_percent"):
        cells += [_cell("vit", f"row {i}", column, "10", "10") for i in range(3)]
    return cells


def _cell(table, row, column, published, ours):
    return {
        "table": table, "row": row, "column": column, "unit": None, "published": published,
        "ours": ours, "difference": None, "equal": published == ours,
    }  # fmt: skip
