import json

import pytest

from synthetic import latency_sweep


@pytest.fixture
def write_records(tmp_path):
    """Writes records as a .jsonl file; returns its path."""

    def write(records, name="records.jsonl", tail=""):
        path = tmp_path / name
        path.write_text("".join(json.dumps(r) + "\n" for r in records) + tail, encoding="utf-8")
        return path

    return write


@pytest.fixture
def sweep():
    """Records of a latency sweep of devices that compute at 160 GFLOP/s."""
    return latency_sweep(flops_per_s=160e9)
