"""validation.md: verdicts, the media side by side, whole runs, every point."""

import pandas as pd

from thinwire_analysis.markdown import to_markdown
from thinwire_analysis.report import environment_list
from thinwire_analysis.validation_checks import CLEAR_S, clear

READING = """\
Times reach from the common start to the last device's end; payloads are what every device sends to
each other one; the formula is the link model's, with 66 B of TCP/IP and Ethernet headers a segment
of 1448 B. On the kernel's link the payloads' sizes travel first, a message of 16 B to every peer,
which shows on slow links; MPI and the kernel take some 0.1 ms a message, which shows on fast ones.
"""


def assemble(study, media):
    """The report as Markdown; the figure lies beside it."""
    parts = [
        "# The link model against a kernel-shaped network and SimGrid",
        "## Checks\n\n" + "\n".join(f"- {check}" for check in study.checks),
        "![Errors over the payload](validation.png)",
        READING,
        f"## Error where the formula is above {1e3 * CLEAR_S:g} ms\n\n"
        + to_markdown(media_table(study.links, media)),
        "## Whole inferences of ViT-B/16 on two devices\n\n" + to_markdown(runs_text(study.runs)),
        "## Every point, in ms\n\n" + to_markdown(points_table(study.links, media)),
        "## Machine\n\n" + environment_list(study.environment),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def media_table(links, media):
    """One row a medium: median and largest error, in percent of the formula."""
    rows = []
    for medium, name in media.items():
        errors = 100 * clear(links, medium).error
        if len(errors):
            rows.append(
                {
                    "medium": name,
                    "points": len(errors),
                    "median, absolute (%)": f"{errors.abs().median():.2f}",
                    "smallest (%)": f"{errors.min():+.2f}",
                    "largest (%)": f"{errors.max():+.2f}",
                }
            )
    return pd.DataFrame(rows)


def runs_text(runs):
    """Medians of both clocks in ms."""
    return pd.DataFrame(
        {
            "strategy": runs.label,
            "P": runs.devices,
            "rate (Mbps)": runs.rate_mbps.map("{:g}".format),
            "emulated (ms)": (1e3 * runs.p50_emulated_s).map("{:.1f}".format),
            "kernel (ms)": (1e3 * runs.p50_native_s).map("{:.1f}".format),
            "emulated - kernel (%)": (100 * runs.error).map("{:+.1f}".format),
        }
    )


def points_table(links, media):
    """One row a point: the formula and every medium's median, in ms."""
    point = ["devices", "rate_mbps", "bytes"]
    times = links.pivot(index=point, columns="medium", values="time_s")
    formula = links[links.medium == "emulated"].set_index(point).formula_s
    table = pd.DataFrame({"formula": 1e3 * formula})
    for medium, name in media.items():
        if medium in times:
            table[name] = 1e3 * times[medium]
    table = table.map("{:.3f}".format).reset_index()
    table["rate_mbps"] = table.rate_mbps.map("{:g}".format)
    names = {"devices": "P", "rate_mbps": "rate (Mbps)", "bytes": "payload (B)"}
    return table.rename(columns=names)
