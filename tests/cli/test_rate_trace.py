"""Links whose rate follows a file: --rate-trace, and the made traces of experiments/traces."""

import subprocess
import sys

import jsonschema
import pytest
from places import REPOSITORY

TRACES = REPOSITORY / "experiments" / "traces"
NAMES = ["lora", "lora-duty", "lte", "wifi", "zigbee"]
WORK = ("--strategy", "voltage", "--devices", "2", "--device-gflops", "1", "--clock", "modelled")
CHANGING = "# seconds\ntime, rate\n0, 4 Mbps\n2 ms, 0\n5 ms, 250 kbps\n9 ms, 40 Mbps\n"


@pytest.fixture
def write_trace(tmp_path):
    """Writes a trace outside the program's folder; returns its path."""

    def write(text, name="link.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def times_of(record):
    """Every iteration's, of the whole and of the devices; what is typical differs in nothing."""
    (link,) = record["time"]["links"]
    parts = ("latency_s", "wait_s", "hidden_s", "skew_s")
    return [[one[part]["samples"] for part in parts] for one in (link, *link["per_device"])]


def only(records, thinwire):
    (record,) = records
    (thinwire.folder / "result.jsonl").unlink()
    return record


def test_the_prediction_is_what_the_modelled_clock_shows(thinwire, vit_tiny, write_trace, schema):
    options = ("--model", vit_tiny, *WORK, "--rate-trace", write_trace(CHANGING),
               "--iterations", "5", "--latency", "100us")  # fmt: skip
    predicted = only(thinwire.records("predict", *options), thinwire)
    measured = only(thinwire.records("run", *options, "--warmup", "2"), thinwire)

    for record in (predicted, measured):
        jsonschema.Draft202012Validator(schema).validate(record)
        assert record["spec"]["rate-trace"] == ["link.csv"]
        assert record["spec"]["rate"] is None
        link = record["time"]["links"][0]["link"]
        assert link["rate_trace"]["file"] == "link.csv"
        assert link["rate_trace"]["duration_s"] == pytest.approx(0.013)  # the last 4 ms again
        mean = (4e6 * 2 + 250e3 * 4 + 40e6 * 4) / 13
        assert link["rate_bit_per_s"] == pytest.approx(mean)
        assert link["rate_trace"]["mean_rate_bit_per_s"] == link["rate_bit_per_s"]
    assert times_of(predicted) == times_of(measured)  # to the last bit
    assert len(set(times_of(predicted)[0][0])) == 5  # each begins elsewhere
    assert measured["checks"]["counted_equals_predicted"] is True


def test_a_trace_of_one_rate_is_that_rate(thinwire, vit_tiny, write_trace):
    flat = write_trace("0, 3 Mbps\n1 s, 3 Mbps\n")
    options = ("predict", "--model", vit_tiny, *WORK, "--iterations", "3")
    traced = only(thinwire.records(*options, "--rate-trace", flat), thinwire)
    plain = only(thinwire.records(*options, "--rate", "3Mbps"), thinwire)

    latency_s = traced["time"]["links"][0]["latency_s"]
    expected_s = plain["time"]["links"][0]["latency_s"]["p50"]
    assert latency_s["samples"] == pytest.approx([expected_s] * 3, rel=1e-9)
    for formula in ("nominal_communication_s", "overlap"):
        assert traced["time"][formula] == plain["time"][formula]
    assert plain["spec"]["rate-trace"] is None
    assert "rate_trace" not in plain["time"]["links"][0]["link"]


def test_strategies_meet_the_same_conditions(thinwire, vit_tiny, write_trace):
    # Iterations begin where their number says, so that a quick one and a slow one meet the same
    # outage: the first two at 0 and at 0.618 s of one second.
    trace = write_trace("0, 0\n0.5 s, 100 Mbps\n")
    for strategy in (("voltage",), ("prism", "--segments", "2")):
        record = only(
            thinwire.records("predict", "--model", vit_tiny, *WORK, "--strategy", *strategy,
                             "--rate-trace", trace, "--iterations", "2"),
            thinwire,
        )  # fmt: skip
        first_s, second_s = record["time"]["links"][0]["latency_s"]["samples"]
        assert first_s == pytest.approx(0.5, abs=0.05)
        assert second_s < 0.05


def test_several_traces_are_links_of_one_record(thinwire, vit_tiny):
    files = ",".join(str(TRACES / f"{name}.csv") for name in NAMES)
    record = only(
        thinwire.records("run", "--model", vit_tiny, *WORK, "--rate-trace", files), thinwire
    )

    links = record["time"]["links"]
    assert [link["link"]["rate_trace"]["file"] for link in links] == [f"{n}.csv" for n in NAMES]
    assert links[0]["latency_s"]["mean"] > links[3]["latency_s"]["mean"]  # LoRa above Wi-Fi


def test_a_wall_clock_has_a_point_for_each_trace(thinwire, vit_tiny, write_document, write_trace):
    files = [str(write_trace("0, 8 Mbps\n1 ms, 1 Mbps\n", name)) for name in ("a.csv", "b.csv")]
    document = write_document({
        "base": {"model": str(vit_tiny), "strategy": "voltage", "devices": 2, "iterations": 1,
                 "clock": "throttled", "warmup": 0},
        "matrix": {"rate-trace": files},
    })  # fmt: skip
    records = thinwire.records("sweep", document)

    assert [record["spec"]["rate-trace"] for record in records] == [["a.csv"], ["b.csv"]]
    assert records[0]["id"] != records[1]["id"]
    for record in records:
        assert record["checks"]["counted_equals_predicted"] is True
        # 17 rows of 48 floats at three exchanges; at 8 Mbps at most.
        assert record["time"]["links"][0]["latency_s"]["min"] > 3 * 8 * 48 * 32 / 8e6


def test_a_changed_file_is_another_point(thinwire, vit_tiny, write_trace):
    ids = set()
    for text in (CHANGING, CHANGING.replace("40 M", "41 M"), CHANGING + "# the first, again\n"):
        options = ("--model", vit_tiny, *WORK, "--rate-trace", write_trace(text))
        ids.add(only(thinwire.records("predict", *options), thinwire)["id"])

    assert len(ids) == 2


REFUSED = {
    "a wrong line": ("0, 1 Mbps\n1 s, 2\n", (), ("--rate-trace=", "link.csv, line 2: rate=2", "unit")),
    "times that do not rise": ("0, 1 Mbps\n0 s, 1 Mbps\n", (), ("line 2", "not after 0 s")),
    "one line": ("0, 1 Mbps\n", (), ("link.csv, a trace has two lines",)),
    "an outage without end": ("0, 0\n1 s, 0 bps\n", (), ("link.csv, the rate is 0 throughout",)),
    "no file": (None, (), ("--rate-trace=absent.csv: there is no file absent.csv",)),
    "a rate beside it": (CHANGING, ("--rate", "1Mbps"), ("--rate and --rate-trace",)),
    "the native clock": (CHANGING, ("--clock", "native"), ("--rate-trace with --clock=native",)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_run_refuses(name, thinwire, vit_tiny, write_trace):
    text, options, fragments = REFUSED[name]
    file = write_trace(text) if text else "absent.csv"

    done = thinwire("run", "--model", vit_tiny, *WORK, "--rate-trace", file, *options)

    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    for fragment in fragments:
        assert fragment in done.stderr


def test_the_made_traces_come_out_of_their_script(tmp_path):
    subprocess.run([sys.executable, TRACES / "make.py", tmp_path], check=True, capture_output=True)

    made = sorted(tmp_path.iterdir(), key=lambda path: path.stem)
    assert [path.name for path in made] == [f"{name}.csv" for name in NAMES]
    for path in made:
        content = path.read_bytes()
        assert content == (TRACES / path.name).read_bytes()
        assert len(content) < 100_000
