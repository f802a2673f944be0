"""What a paper prints about latency, from results/published/*.json (thinwire.published/1)."""

import json
from dataclasses import dataclass
from pathlib import Path

from thinwire_analysis.errors import InputError

SCHEMA_NAME = "thinwire.published/1"


@dataclass(frozen=True)
class PublishedLatency:
    """The latency figure in numbers: all that its text says.

    cuts: {(P, L): percent below the single device} at `rate_mbps`
    voltage_crossing: {P: text}, the rate from which Voltage beats the single device
    """

    rate_mbps: float
    cuts: dict
    voltage_crossing: dict


def load_published_latency(path):
    """Reads the table `latency`. Raises InputError when the file is not of the expected form."""
    found = published_latency([load_document(path)])
    if found is None:
        raise InputError(f"{path}: no published latency table")
    return found


def load_document(path):
    """One paper's tables. Raises InputError when the file is not of the expected form."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA_NAME:
            raise InputError(f"{path}: schema {document['schema']!r}, expected {SCHEMA_NAME!r}")
        document["tables"] = list(document["tables"])
        return document
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: no published tables ({error!r})") from error


def load_documents(folder):
    """Every paper of a folder, by name. Raises InputError when there is none."""
    paths = sorted(Path(folder).glob("*.json"))
    if not paths:
        raise InputError(f"{folder}: no published tables (*.json)")
    return [load_document(path) for path in paths]


def published_latency(documents):
    """PublishedLatency of the first document with a usable table `latency`; None without one."""
    for document in documents:
        for table in document["tables"]:
            if table["key"] == "latency" and "link" in table:
                return _latency(table)
    return None


def _latency(table):
    cuts, crossing = {}, {}
    for row in table["rows"]:
        match, cells = row["match"], row["cells"]
        if "reduction_modelled" in cells:
            cuts[match["devices"], match["segments"]] = float(cells["reduction_modelled"])
        if "break_even_modelled" in cells:
            crossing[match["devices"]] = cells["break_even_modelled"]
    return PublishedLatency(table["link"]["rate_bit_per_s"] / 1e6, cuts, crossing)
