"""A thousand devices and a hundred thousand tokens: what `predict` says is still the formula."""

import pytest

DEVICES, TOKENS, HIDDEN, EXCHANGES = 1000, 100_000, 768, 12
RATE_BIT_PER_S = 100e6
MESSAGE_S = 32 * HIDDEN * TOKENS / DEVICES / RATE_BIT_PER_S
COPIES_IN_A_ROW = {"broadcast": 1, "unicast": DEVICES - 1, "shared": DEVICES * (DEVICES - 1)}
LARGE = (
    "predict", "--model", "bert-base", "--tokens", TOKENS, "--devices", DEVICES,
    "--device-gflops", "160", "--rate", "100Mbps",
)  # fmt: skip


@pytest.mark.parametrize("topology", COPIES_IN_A_ROW)
def test_waits_for_every_message_of_a_thousand_devices(thinwire, topology):
    record = thinwire.records(*LARGE, "--strategy", "voltage", "--topology", topology)[0]

    link = record["time"]["links"][0]
    # Besides the exchanges, device 0 gathers P short rows; on the shared medium devices that have all
    # they need go on while the last messages travel.
    messages_s = EXCHANGES * COPIES_IN_A_ROW[topology] * MESSAGE_S
    assert link["wait_s"]["p50"] == pytest.approx(messages_s, rel=1e-3)
    assert len(link["per_device"]) == DEVICES


@pytest.mark.parametrize(
    "options",
    [
        ("astra", "--groups", "4"),
        ("prism", "--compression-rate", "10"),
        ("trace-b",),
        ("trace-nb",),
        ("trace-2a",),
        ("trace-1b", "--io", "terminal"),
    ],
    ids=lambda options: options[0],
)
def test_predicts_every_strategy_that_splits_tokens(thinwire, options):
    record = thinwire.records(*LARGE, "--strategy", *options, "--topology", "shared")[0]

    assert record["status"] == "ok"
    assert record["time"]["links"][0]["latency_s"]["p50"] > 0
