"""report.md of the PRISM reproduction."""

from thinwire_analysis.environment import flat
from thinwire_analysis.latency import single_flops_per_s, single_latency_s
from thinwire_analysis.markdown import to_markdown

READING_LATENCY = """\
How to read this:

- Every device's computation is timed alone on the whole machine and charged to that device's
  virtual clock; messages move as real bytes through MPI, and their arrival follows from the link
  model. One execution carries all link rates.
- Lines are medians, bands reach from the 10th to the 90th percentile of {samples} iterations. An
  iteration lasts as long as its slowest device, and every exchange waits for the latest sender: a
  maximum over P noisy times. That maximum is biased upward, the more so the larger P is, so the
  measured cuts of P = 2 and 3 are slightly understated against the single device, whose time is no
  maximum. The modelled series has no noise and no such bias.
- A cut at a given link rate depends on the device's speed: a faster machine spends a larger share
  of its time waiting for the link, so its cuts are smaller; a slower one's are larger. This machine
  ran the single device in {single_ms:.1f} ms, {gflops:.0f} GFLOP/s of the counted operations. The
  published cuts follow for a device of about 160 GFLOP/s, which is what the modelled series uses.
"""

READING_DUPLICATION = """\
`on` attends to each mean once and weighs its column by the number of tokens that it stands for;
`duplicate` repeats the mean that many times, projecting and attending to every copy; `off` attends
once without the weight, which costs the same as `on` and gives different numbers. Time follows
operations only roughly: larger products run at a higher rate, and the softmax, GELU and
LayerNorm passes, which the convention counts little or not at all, take time as well. Times are
those of the device that ends last.
"""


def assemble(found, tables, compared):
    """The report as Markdown; figures are linked by name, so they must lie beside it.

    compared: the Markdown of `thinwire tables`, whose headings move one level down
    """
    reading = READING_LATENCY.format(
        samples=found.samples,
        single_ms=1e3 * single_latency_s(found.measured),
        gflops=single_flops_per_s(found.measured) / 1e9,
    )
    parts = [
        "# PRISM reproduced: tables, latency, duplication",
        "## Checks\n\n" + "\n".join(f"- {check}" for check in found.checks),
        "## Machine\n\n" + environment_list(found.environment),
        "## Published cells beside ours\n\n" + without_title(compared),
        "## Latency against the link's rate\n\n"
        "![Measured latency](latency-measured.png)\n\n"
        "![Modelled latency](latency-modelled.png)\n\n" + reading,
        f"### Cut of the latency at {found.published.rate_mbps:g} Mbps\n\n"
        + to_markdown(tables["latency-cuts"]),
        "### Rate from which Voltage beats one device\n\n"
        + to_markdown(tables["latency-crossings"]),
        "## What the scaling-aware softmax saves\n\n"
        + to_markdown(tables["duplication"])
        + "\n"
        + READING_DUPLICATION,
        "Every point: `latency-measured.csv`, `latency-modelled.csv`; raw records: `*.jsonl`.",
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def without_title(text):
    """Markdown without its title, the other headings one level down."""
    lines = [line for line in text.splitlines() if not line.startswith("# ")]
    return "\n".join("#" + line if line.startswith("#") else line for line in lines).strip()


def environment_list(environment):
    """A record's environment as a Markdown list."""
    return "\n".join(f"- {name}: {value}" for name, value in flat(environment))
