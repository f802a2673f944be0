"""report.md of the TRACE reproduction."""

from thinwire_analysis.report import environment_list, without_title

READING = """\
How to read this:

- Every device's computation is timed alone on the whole machine and charged to that device's
  virtual clock; payloads move as real bytes through MPI, and their arrival follows from the link
  model. One execution carries all link rates. Codebooks are random: they cost what trained ones
  cost and say nothing about accuracy.
- Published compute times belong to the paper's machine. What can be compared are ratios: by
  operations, astra takes {k1024[0]:.3f} (P = 2) and {k1024[1]:.3f} times (P = 3) the time of
  trace-b at K = 1024. The paper's Voltage takes as long to compute as its trace-b although it
  does 1.156 times the operations, which no count explains.
- Waiting includes skew, the waiting that would remain on an unlimited link: with 197 tokens, the
  last device has one row more, and measured times vary.
"""

READING_TIMELINES = """\
Two lanes a device, what it does and what it sends, at 10 Mbps (2^20 bit/s a Mbps), broadcast; each
picture has a scale of its own. It begins with what is sent towards the block's attention: behind
the block before for voltage, prism and astra, which then wait, and behind that block's attention
for trace-b, which goes on with the feed-forward layer and its projections while the frame travels.
"""

READING_TENSOR = """\
PRISM cites 1000 Mbps as what tensor parallelism needs on six devices to beat one device, for
ViT, BERT and GPT-2, without saying how fast the devices are. The crossing moves in proportion to
their speed: ours are for 160 GFLOP/s a device and a ring all-reduce over a switch. GPT-2's head
(a third of its work) is split over rows at no cost on the link.
"""

READING_SHARE = """\
TRACE cites 60 to 93 % for rates below 100 Mbps without the speed of the devices; this machine
computes faster than the devices behind the citation, so its shares are larger.
"""


def assemble(found, tables, compared):
    """The report as Markdown; figures are linked by name, so they must lie beside it.

    tables: {name: Markdown}   compared: the Markdown of `thinwire tables`
    """
    latency = found.frames["trace-latency"]
    parts = [
        "# TRACE reproduced: bits, latency, buffers, topologies, tensor parallelism",
        "## Checks\n\n" + "\n".join(f"- {check}" for check in found.checks),
        "## Machine\n\n" + environment_list(found.environment),
        "## Published cells beside ours\n\n" + without_title(compared),
        "## Figures\n\n"
        + READING.format(k1024=_operation_ratios(latency, 1024))
        + "\n"
        + "\n\n".join(
            f"![{title}]({name}.png)"
            for name, title in (
                ("communication", "Communication time over the rate"),
                ("compression", "Compression ratios"),
                ("breakdown", "Latency breakdown"),
                ("buffers", "What the buffers save"),
            )
        ),
        "### Speed-up over ASTRA\n\n" + tables["astra-ratios"],
        "## One block's timeline\n\n![Timelines](timelines.png)\n\n" + READING_TIMELINES,
        "## Three ways to share a medium\n\n![Topologies](topologies.png)\n\n"
        + tables["topologies"],
        "## Tensor parallelism\n\n![Tensor](tensor.png)\n\n"
        + tables["tensor-crossings"]
        + "\n"
        + READING_TENSOR,
        "## Communication in Voltage's latency, BERT at 1,024 tokens, P = 4\n\n"
        + tables["bert-share"]
        + "\n"
        + READING_SHARE,
        "Every point: `points.csv`; raw records: `*.jsonl`.",
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _operation_ratios(frame, level):
    """astra over trace-b by operations at P = 2 and 3; NaN where a record lacks."""
    ratios = []
    for devices in (2, 3):
        part = frame[frame.devices == devices]
        astra = part[part.strategy == "astra"].block_flops
        trace = part[(part.strategy == "trace-b") & (part.codewords == level)].block_flops
        ratios.append(astra.max() / trace.max())
    return ratios
