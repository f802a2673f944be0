"""The sweep that the tests submit, and its points."""

import json

from places import BINARY, VIT_TINY

DEVICES = (2, 3)
COMPRESSION_RATES = (2, 4)
POINTS = {("single", 1, None)}
POINTS |= {("voltage", devices, None) for devices in DEVICES}
POINTS |= {("prism", devices, rate) for devices in DEVICES for rate in COMPRESSION_RATES}

SWEEP = {
    "THINWIRE": str(BINARY),
    "MODEL": str(VIT_TINY),
    "DEVICES": ",".join(map(str, DEVICES)),
    "COMPRESSION_RATES": ",".join(map(str, COMPRESSION_RATES)),
    "RATES": "100Mbps",
    "THREADS": "1",
    "ITERATIONS": "2",
    "WARMUP": "0",
    "TIME_LIMIT": "00:10:00",
}
# Throttled senders make a point take a known time at least, whatever the machine: some 0.5 s.
SLOW_SWEEP = {**SWEEP, "CLOCK": "throttled", "RATES": "1Mbps", "ITERATIONS": "15"}


def read_records(*files):
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return [json.loads(line) for line in lines]


def point_of(record):
    spec = record["spec"]
    return spec["strategy"], spec["devices"], record["traffic"]["compression_rate_requested"]
