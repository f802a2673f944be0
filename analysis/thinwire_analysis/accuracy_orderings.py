"""Orderings that the papers state, and the pairs of points that can tell whether they hold."""

from collections.abc import Callable
from dataclasses import dataclass

# Rates of compression count as equal within this part: L is a whole number.
EQUAL_CR = 0.10


@dataclass(frozen=True)
class Ordering:
    """What a paper says: `text`, where, and how points are paired for it.

    pairs: frame -> [(row of the one that should be at least as good, the other row, place)]
    """

    key: str
    text: str
    source: str
    pairs: Callable


def _matched(first, second, keys, place):
    """Pairs of rows that agree in `keys`; of repeated ones the first."""
    found = []
    others = {tuple(row[key] for key in keys): row for _, row in second.iloc[::-1].iterrows()}
    for _, row in first.drop_duplicates(keys).iterrows():
        other = others.get(tuple(row[key] for key in keys))
        if other is not None:
            found.append((row, other, place(row, other)))
    return found


def _neighbours(ordered, place):
    """Pairs of each row and the next one, with place(a, b)."""
    rows = [row for _, row in ordered.iterrows()]
    return [(a, b, place(a, b)) for a, b in zip(rows, rows[1:])]


def _plain(frame):
    """Points with codebooks made the default way."""
    return frame[(frame["update"] == "ema") & (frame.hierarchy == "euclidean")]


def _scaling_pairs(frame):
    prism = frame[(frame.strategy == "prism") & (frame.devices > 1)]
    on, off = prism[prism.scaling == "on"], prism[prism.scaling == "off"]
    keys = ["data", "first", "last", "devices", "label_l"]
    on, off = (
        part.assign(label_l=part.label.str.replace(", scaling off", "")) for part in (on, off)
    )
    return _matched(on, off, keys, lambda a, _: f"P = {a.devices}, {_compression(a)}")


def _rate_pairs(frame):
    """Neighbours along CR at the same P."""
    found = []
    prism = _scaled(frame).drop_duplicates(["data", "first", "last", "devices", "label"])
    for _, curve in prism.groupby(["data", "first", "last", "devices"], sort=False):
        found += _neighbours(
            curve.sort_values("cr"),
            lambda a, b: f"P = {a.devices}, CR {a.cr:.3g} over {b.cr:.3g}",
        )
    return found


def _devices_pairs(frame):
    """P = 2 beside P = 3 at CRs that are equal within EQUAL_CR; each point of P = 3 once."""
    prism = _scaled(frame)
    found = []
    for _, three in prism[prism.devices == 3].iterrows():
        two = prism[(prism.devices == 2) & (prism["data"] == three["data"])
                    & (prism["first"] == three["first"]) & (prism["last"] == three["last"])]  # fmt: skip
        two = two[(two.cr / three.cr - 1).abs() <= EQUAL_CR]
        if not two.empty:
            nearest = two.loc[(two.cr / three.cr - 1).abs().idxmin()]
            found.append((nearest, three, f"CR {nearest.cr:.3g} and {three.cr:.3g}"))
    return found


def _scaled(frame):
    return frame[(frame.strategy == "prism") & (frame.scaling == "on") & (frame.devices > 1)]


def _strategy_pairs(better, worse):
    def pairs(frame):
        plain = _plain(frame)
        return _matched(
            plain[plain.strategy == better], plain[plain.strategy == worse],
            ["data", "first", "last", "devices", "codewords"],
            lambda a, _: f"P = {a.devices}, K = {a.codewords}",
        )  # fmt: skip

    return pairs


def _level_pairs(frame):
    """Neighbouring levels of one codebook."""
    found = []
    plain = _plain(frame)
    plain = plain[plain.strategy.isin(["trace-b", "trace-nb"])]
    keys = ["data", "first", "last", "strategy", "devices"]
    for _, levels in plain.drop_duplicates([*keys, "codewords"]).groupby(keys, sort=False):
        found += _neighbours(
            levels.sort_values("codewords", ascending=False),
            lambda a, b: f"{a.strategy}, P = {a.devices}, K = {a.codewords} over {b.codewords}",
        )
    return found


def _spread_pairs(frame):
    """Fewest devices beside most at the finest level of trace-b."""
    plain = _plain(frame)
    found = []
    chosen = plain[plain.strategy == "trace-b"]
    for _, rows in chosen.groupby(["data", "first", "last"], sort=False):
        rows = rows[rows.codewords == rows.codewords.max()].sort_values("devices")
        if rows.devices.nunique() > 1:
            few, many = rows.iloc[0], rows.iloc[-1]
            found.append((few, many, f"P = {few.devices} over {many.devices}, K = {few.codewords}"))
    return found


def _variant_pairs(column, better, worse, levels=None):
    def pairs(frame):
        chosen = frame[frame.strategy == "trace-b"]
        other = "hierarchy" if column == "update" else "update"
        chosen = chosen[chosen[other] == ("euclidean" if other == "hierarchy" else "ema")]
        if levels:
            chosen = chosen[chosen.codewords.isin(levels)]
        return _matched(
            chosen[chosen[column] == better], chosen[chosen[column] == worse],
            ["data", "first", "last", "devices", "codewords"],
            lambda a, _: f"P = {a.devices}, K = {a.codewords}",
        )  # fmt: skip

    return pairs


def _compression(row):
    return f"L = {row.segments}" if row.segments else f"CR = {row.cr:g}"


ORDERINGS = (
    Ordering(
        "scaling", "PRISM with scaling is at least as good as without",
        "PRISM, Table of duplicates", _scaling_pairs,
    ),
    Ordering(
        "rate", "PRISM gets worse as CR grows",
        "PRISM, Tables of strategies", _rate_pairs,
    ),
    Ordering(
        "devices", "PRISM on two devices is at least as good as on three at equal CR",
        "PRISM, Tables of strategies", _devices_pairs,
    ),
    Ordering(
        "nb-over-b", "trace-nb is at least as good as trace-b at equal K",
        "TRACE, Tables III and VI", _strategy_pairs("trace-nb", "trace-b"),
    ),
    Ordering(
        "b-over-astra", "trace-b is at least as good as astra at equal K",
        "TRACE, Table III", _strategy_pairs("trace-b", "astra"),
    ),
    Ordering(
        "nb-over-astra", "trace-nb is at least as good as astra at equal K",
        "TRACE, Table III", _strategy_pairs("trace-nb", "astra"),
    ),
    Ordering(
        "nb-over-1b", "trace-nb is at least as good as trace-1b",
        "TRACE, Table VI", _strategy_pairs("trace-nb", "trace-1b"),
    ),
    Ordering(
        "levels", "a finer level is at least as good as the next coarser one",
        "TRACE, Table III and Fig. 9", _level_pairs,
    ),
    Ordering(
        "spread", "trace-b on few devices is at least as good as on many",
        "TRACE, Fig. 9", _spread_pairs,
    ),
    Ordering(
        "hierarchy", "a Euclidean hierarchy is at least as good as one by usage",
        "TRACE, Table VII", _variant_pairs("hierarchy", "euclidean", "usage", (2, 4, 8, 32)),
    ),
    Ordering(
        "gradient", "EMA is at least as good as gradient updates",
        "TRACE, Table VIII", _variant_pairs("update", "ema", "gradient"),
    ),
    Ordering(
        "subspace", "EMA in a subspace is at least as good as EMA",
        "TRACE, Table VIII", _variant_pairs("update", "subspace", "ema"),
    ),
)  # fmt: skip
