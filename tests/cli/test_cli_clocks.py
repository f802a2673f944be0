"""Clocks of real time, where devices compute at once, and the headers of packets."""

import jsonschema
import pytest

VOLTAGE = ("--strategy", "voltage", "--devices", "2", "--iterations", "2", "--warmup", "1")


@pytest.mark.parametrize("clock", ["native", "throttled"])
def test_a_wall_clock_shows_where_devices_compute(thinwire, vit_tiny, schema, clock):
    (record,) = thinwire.records(
        "run", "--model", vit_tiny, *VOLTAGE, "--clock", clock, "--threads", "64"
    )

    jsonschema.Draft202012Validator(schema).validate(record)
    assert record["spec"]["clock"] == clock
    assert record["time"]["contended"] is True  # 128 threads
    assert [place["bound_cores"] for place in record["environment"]["placement"]] == [None, None]
    done = thinwire("run", "--model", vit_tiny, *VOLTAGE, "--clock", clock, "--threads", "64")
    assert "CONTENDED" in done.stdout


def test_the_native_clock_takes_the_rate_as_a_statement_alone(thinwire, vit_tiny):
    # At 1 bit/s an exchange would take hours.
    (record,) = thinwire.records(
        "run", "--model", vit_tiny, *VOLTAGE, "--clock", "native", "--rate", "1bps"
    )

    assert record["checks"]["counted_equals_predicted"] is True
    assert record["time"]["links"][0]["link"]["rate_bit_per_s"] == 1


@pytest.mark.parametrize("clock", ["native", "throttled"])
def test_wall_clocks_refuse_what_they_cannot_do(thinwire, vit_tiny, clock):
    for options, reason in [
        (("--rate", "1Mbps,2Mbps"), f"--clock={clock} with 2 link settings"),
        (("--slowness", "1,2"), f"--slowness with --clock={clock}"),
    ]:
        done = thinwire("run", "--model", vit_tiny, *VOLTAGE, "--clock", clock, *options)
        assert done.returncode == 2
        assert reason in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_packet_headers_are_sent_and_predicted(thinwire, vit_tiny):
    options = ("--model", vit_tiny, *VOLTAGE, "--rate", "10Mbps", "--device-gflops", "100")
    (bare,) = thinwire.records("predict", *options)
    (thinwire.folder / "result.jsonl").unlink()
    (framed,) = thinwire.records("predict", *options, "--overhead", "tcp")
    (thinwire.folder / "result.jsonl").unlink()
    (measured,) = thinwire.records("run", *options, "--overhead", "66B/1448B")

    # 9 and 8 rows of 48 floats: 1,728 and 1,536 bytes, two packets each, at three exchanges.
    headers = 3 * 2 * 2 * 66 * 8
    assert framed["traffic"]["link_bits"] == bare["traffic"]["link_bits"] + headers
    assert measured["traffic"]["link_bits"] == framed["traffic"]["link_bits"]
    assert measured["time"]["links"][0]["link"]["overhead"] == "tcp"
    assert (
        framed["time"]["links"][0]["latency_s"]["p50"] > bare["time"]["links"][0]["latency_s"]["p50"]
    )
    assert bare["id"] != framed["id"]


def test_a_wrong_overhead_is_explained(thinwire, vit_tiny):
    done = thinwire("run", "--model", vit_tiny, *VOLTAGE, "--overhead", "udp")

    assert done.returncode == 2
    assert "--overhead=udp" in done.stderr
    assert "66B/1448B" in done.stderr
