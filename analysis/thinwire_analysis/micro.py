"""Two files of experiments/micro side by side: which benchmarks are faster, which are slower."""

import math
from dataclasses import dataclass

import pandas as pd

from thinwire_analysis.markdown import to_markdown
from thinwire_analysis.micro_file import MicroFile, load

ORIGIN = ("thinwire", "git_revision", "cpu", "num_cpus", "threads", "compiler", "onednn")
FEW_REPETITIONS = 15


@dataclass(frozen=True)
class Comparison:
    """ratios: second by first median, by name of the benchmarks in both files."""

    first: MicroFile
    second: MicroFile
    ratios: dict

    def verdict(self, name):
        """Beyond the spreads: the middle halves of the repetitions do not meet."""
        first, second = self.first.timings[name], self.second.timings[name]
        if second.p75_s < first.p25_s:
            return "faster"
        return "slower" if second.p25_s > first.p75_s else "same"

    def geometric_mean(self):
        return math.exp(sum(map(math.log, self.ratios.values())) / len(self.ratios))


def compare(first, second):
    """Two files by path. Raises InputError when one is unusable."""
    first, second = load(first), load(second)
    ratios = {
        name: second.timings[name].median_s / timing.median_s
        for name, timing in first.timings.items()
        if name in second.timings
    }
    return Comparison(first, second, ratios)


def report(found):
    """Markdown: where the files come from, one row a benchmark, what is missing, the mean."""
    parts = [header(found)]
    if found.ratios:
        counts = pd.Series([found.verdict(name) for name in found.ratios]).value_counts()
        judged = ", ".join(f"{counts.get(v, 0)} {v}" for v in ("faster", "slower", "same"))
        parts += [
            to_markdown(table(found)),
            f"geometric mean of B / A over {len(found.ratios)} benchmarks: "
            f"{found.geometric_mean():.3f}; {judged}",
        ]
    else:
        parts.append("no benchmark is in both files")
    return "\n\n".join(part.strip() for part in [*parts, *missing(found)])


def header(found):
    """A line a file, and one that says in what they differ."""
    lines = [
        f"{letter}: " + ", ".join(f"{key} {file.context.get(key, '?')}" for key in ORIGIN)
        for letter, file in (("A", found.first), ("B", found.second))
    ]
    differing = [
        f"{key} {found.first.context.get(key)} / {found.second.context.get(key)}"
        for key in ORIGIN
        if found.first.context.get(key) != found.second.context.get(key)
    ]
    lines.append("different: " + ("; ".join(differing) or "nothing"))
    timings = [*found.first.timings.values(), *found.second.timings.values()]
    fewest = min(timing.repetitions for timing in timings)
    if fewest < FEW_REPETITIONS:
        lines.append(f"only {fewest} repetitions of some: verdicts need {FEW_REPETITIONS}")
    return "\n\n".join(lines)


def table(found):
    """One row a benchmark of both files. Spread: half of the middle half, of the median."""
    rows = []
    for name, ratio in found.ratios.items():
        first, second = found.first.timings[name], found.second.timings[name]
        rows.append(
            {
                "benchmark": name,
                "A": _time(first.median_s),
                "± %": _spread(first),
                "B": _time(second.median_s),
                "± % ": _spread(second),
                "B / A": f"{ratio:.3f}",
                "GFLOP/s of B": _rate(second, "gflop_per_s"),
                "GB/s of B": _rate(second, "gb_per_s"),
                "B is": found.verdict(name),
            }
        )
    return pd.DataFrame(rows)


def missing(found):
    """A line a file that lacks benchmarks of the other."""
    sides = (("A", found.first, found.second), ("B", found.second, found.first))
    return [
        f"only in {letter}: " + ", ".join(names)
        for letter, file, other in sides
        if (names := [name for name in file.timings if name not in other.timings])
    ]


def _time(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"


def _spread(timing):
    return f"{50 * (timing.p75_s - timing.p25_s) / timing.median_s:.1f}"


def _rate(timing, key):
    return f"{timing.rates[key]:.4g}" if key in timing.rates else ""
