"""jobs/netns.sh: ranks in namespaces, whose bytes cross cables that the kernel shapes."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from places import BINARY, JOBS, REPOSITORY, VIT_TINY

NETNS = JOBS / "netns.sh"
TIMEOUT_S = 120

UNSHARE = ["unshare", "--net", "--mount", "--uts", "--pid", "--fork", "--kill-child"]
if os.getuid() != 0:
    UNSHARE[1:1] = ["--user", "--map-root-user"]


def what_is_missing():
    tools = [tool for tool in ("ethtool", "ip", "mpirun", "tc", "unshare") if not shutil.which(tool)]
    if tools:
        return f"not installed: {', '.join(tools)}"
    done = subprocess.run([*UNSHARE, "true"], capture_output=True, check=False)
    return "this system gives no network namespaces to this user" if done.returncode else None


needs_namespaces = pytest.mark.skipif(what_is_missing() is not None, reason=str(what_is_missing()))


def netns(*arguments, folder=REPOSITORY):
    return subprocess.run(
        [NETNS, *map(str, arguments)], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip


BAD_USAGE = {
    "no devices": (("--", "true"), ("--devices",)),
    "one device": (("--devices", 1, "--", "true"), ("--devices 1", "from 2")),
    "a rate without unit": (("--devices", 2, "--rate", 10, "--", "true"), ("--rate 10", "10Mbps")),
    "a rate too many": (
        ("--devices", 2, "--rate", "1Mbps:2Mbps:3Mbps", "--", "true"), ("3 values", "2 devices"),
    ),
    "a burst below one frame": (
        ("--devices", 2, "--burst", 1000, "--", "true"), ("--burst 1000", "1514"),
    ),
    "no command": (("--devices", 2), ("command",)),
    "an unknown command": (("--devices", 2, "--", "no-such-thing"), ("no-such-thing",)),
    "an unknown option": (("--delay", "2ms"), ("--delay",)),
    "an option without value": (("--devices",), ("--devices", "missing")),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_USAGE)
def test_bad_usage_is_one_line_and_status_2(case):
    arguments, parts = BAD_USAGE[case]

    done = netns(*arguments)

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert all(part in done.stderr for part in parts)


def test_help_shows_an_example():
    done = netns("--help")

    assert done.returncode == 0
    assert "Example: jobs/netns.sh --devices 2 --rate 10Mbps" in done.stdout


@needs_namespaces
def test_the_command_s_status_is_ours():
    assert netns("--devices", 2, "--", "sh", "-c", "exit 7").returncode == 7


@needs_namespaces
def test_rank_p_is_on_device_p_a_host_of_its_own():
    done = netns("--devices", 3, "--", "sh", "-c", "echo $OMPI_COMM_WORLD_RANK-$(hostname)")

    assert done.returncode == 0, done.stderr
    ranks_and_devices = [line.split("-")[::2] for line in done.stdout.split()]
    assert sorted(ranks_and_devices) == [["0", "0"], ["1", "1"], ["2", "2"]]


@needs_namespaces
def test_what_the_devices_exchange_crosses_their_cables(tmp_path):
    iterations, warmup = 4, 1
    done = netns(
        "--devices", 2, "--rate", "50Mbps:20Mbps", "--counters", tmp_path / "cables.json", "--",
        BINARY, "run", "--model", VIT_TINY, "--strategy", "voltage", "--devices", 2,
        "--clock", "throttled", "--threads", 1, "--iterations", iterations, "--warmup", warmup,
        "--json", tmp_path / "record.jsonl",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    cables = json.loads((tmp_path / "cables.json").read_text(encoding="utf-8"))
    record = json.loads((tmp_path / "record.jsonl").read_text(encoding="utf-8"))

    assert [cable["rate_bit_per_s"] for cable in cables["devices"]] == [50e6, 20e6]
    assert all(cable["dropped_frames"] == 0 for cable in cables["devices"])
    bits = record["time"]["links"][0]["link_bits"] // 2 * (iterations + warmup)
    for cable in cables["devices"]:
        assert 8 * cable["sent_bytes"] > bits
        assert 8 * cable["received_bytes"] > bits
    assert "device 1 sent" in done.stderr and "btl_tcp_eager_limit" in done.stderr


@needs_namespaces
def test_two_copies_run_side_by_side_and_a_signal_leaves_nothing_behind():
    command = [NETNS, "--devices", "2", "--rate", "1Mbps", "--", "sh", "-c", "hostname; sleep 60"]
    copies = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    hosts = {copy.stdout.readline().strip() for copy in copies for _ in range(2)}
    assert len(hosts) == 4
    assert len(processes_with(b"OMPI_MCA_orte_hnp_uri", hosts)) >= 4

    for copy in copies:
        copy.send_signal(signal.SIGTERM)

    assert [copy.wait(timeout=TIMEOUT_S) for copy in copies] == [143, 143]
    deadline = time.monotonic() + 10
    while remaining := processes_with(b"OMPI_MCA_orte_hnp_uri", hosts):
        assert time.monotonic() < deadline, remaining
        time.sleep(0.1)


def processes_with(variable, hosts):
    """Processes started by Open MPI's daemons of these hosts."""
    names = {host.rsplit("-", 1)[0].encode() for host in hosts}
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            text = path.read_bytes()
        except OSError:
            continue
        if variable in text and any(name in text for name in names):
            found.append(path.parent.name)
    return found
