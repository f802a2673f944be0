"""The papers' accuracies of the form that a task has: other data and other models than ours."""

from dataclasses import dataclass

# A rate of compression of ours stands beside the paper's nearest one within this part of it.
NEAREST_CR = 0.15
# metric of a task: (table of PRISM, its column, and what that is)
PRISM_COLUMNS = {
    "accuracy": ("vit", "cifar10", "ViT-B/16, CIFAR-10, finetuned by the paper"),
    "spearman": ("bert", "stsb_spearman", "BERT-base, STS-B, padded to 256"),
    "bits_per_byte": ("gpt2", "enwik8_bpb", "GPT-2 small, enwik8"),
}
TRACE_DATA = "CIFAR-100"
PLACEMENTS = {"trace-b": "2B", "trace-nb": "1A.i", "trace-2a": "2A", "trace-1b": "1B"}


@dataclass(frozen=True)
class Published:
    """A paper's cell, and the same table's single device; texts as printed."""

    value: str
    single: str

    @property
    def change(self):
        """From the single device, in the table's own unit."""
        return float(self.value) - float(self.single)


def prism_counterpart(documents, metric):
    """What PRISM's cells beside this metric are of; None where it prints no such column."""
    found = PRISM_COLUMNS.get(metric)
    return found[2] if found and _prism_rows(documents, metric) else None


def prism_cell(documents, metric, devices, cr):
    """PRISM's cell at this P and the nearest CR; None without one near by."""
    rows = _prism_rows(documents, metric)
    single = next((r for r in rows if r["match"]["strategy"] == "single"), None)
    best, distance = None, NEAREST_CR
    for row in rows:
        if row["match"].get("devices") != devices or row["match"]["strategy"] != "prism":
            continue
        away = abs(cr / float(row["cells"]["cr"]) - 1)
        if away < distance and "finetuned" not in row["label"]:
            best, distance = row, away
    if best is None or single is None:
        return None
    column = PRISM_COLUMNS[metric][1]
    return Published(best["cells"][column], single["cells"][column])


def trace_cell(documents, strategy, devices, codewords, update="ema"):
    """TRACE's top-1 on CIFAR-100, ViT-B/16; None where none survives."""
    rows = {row["label"]: row for row in _table(documents, "accuracy")}
    name = {"astra": "ASTRA", "trace-b": "TRACE-B", "trace-nb": "TRACE-NB"}.get(strategy)
    wanted = {
        "gradient": f"{TRACE_DATA}, gradient update P={devices}",
        "subspace": f"{TRACE_DATA}, EMA with d_q=256 P={devices}",
    }.get(update, f"{TRACE_DATA}, {name} P={devices}")
    single = rows.get(f"{TRACE_DATA}, single device")
    found = next((r for label, r in rows.items() if label.split(" (")[0] == wanted), None)
    if found is None or single is None or codewords != 1024 or update == "kmeans":
        return None
    return Published(found["cells"]["top1"], single["cells"]["top1"])


def _prism_rows(documents, metric):
    if metric not in PRISM_COLUMNS:
        return []
    table, column, _ = PRISM_COLUMNS[metric]
    return [row for row in _table(documents, table) if column in row["cells"]]


def _table(documents, key):
    return [
        row
        for document in documents
        for table in document["tables"]
        if table["key"] == key
        for row in table["rows"]
    ]
