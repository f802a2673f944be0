"""`thinwire plan`, and what run and predict make of auto and of stated powers."""

import json

import jsonschema
import pytest

PLAN = ("plan", "--devices", "3", "--device-gflops", "160", "--rate", "50Mbps")
FEW = ("--strategy", "single,voltage,prism", "--segments", "5,10")


@pytest.fixture
def plan(thinwire):
    """The JSON of a plan that must succeed."""

    def make(*arguments):
        done = thinwire(*arguments, "--json", "-")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return make


def profile(model="vit-base-16", link=None, **device):
    rows = [{"rows": 1, "gflops": 20}, {"rows": 197, "gflops": 160}]
    return {
        "schema": "thinwire.profile/1",
        "device": {"model": model, "threads": 1, "gflops_by_rows": rows, **device},
        "link": link,
    }


def test_a_plan_names_the_best_and_how_to_run_it(thinwire):
    done = thinwire(*PLAN, *FEW)

    assert done.returncode == 0, done.stderr
    assert "best        prism --segments 5" in done.stdout
    assert "thinwire run" in done.stdout and "--partition auto" in done.stdout
    assert "best exact  single (device 0)" in done.stdout
    assert "accuracy is unknown" in done.stdout
    assert "rate of the link" in done.stdout


def test_the_command_that_a_plan_prints_predicts_its_latency(thinwire, plan):
    best = plan(*PLAN, *FEW)["candidates"][0]
    flags = [part for name, value in best["run"].items() for part in (f"--{name}", value)]

    (record,) = thinwire.records("predict", *flags)

    latency_s = record["time"]["links"][0]["latency_s"]["p50"]
    assert latency_s == pytest.approx(best["latency_s"], rel=1e-12)
    assert record["spec"]["rows"] == best["rows"]


def test_a_link_that_loses_packets_takes_the_time_that_predict_shows(thinwire, plan):
    few = (*PLAN, "--strategy", "voltage", "--partition", "paper", "--overhead", "tcp")
    whole = plan(*few)
    lossy = plan(*few, "--loss", "20%")
    best = lossy["candidates"][0]
    flags = [part for name, value in best["run"].items() for part in (f"--{name}", value)]

    (record,) = thinwire.records("predict", *flags)

    assert lossy["link"]["loss"]["probability"] == 0.2
    latency_s = record["time"]["links"][0]["latency_s"]
    assert len(set(latency_s["samples"])) > 1
    assert best["latency_s"] == pytest.approx(latency_s["p50"], rel=1e-12)
    assert best["latency_s"] > whole["candidates"][0]["latency_s"]
    assert best["bits_per_inference"] > whole["candidates"][0]["bits_per_inference"]
    assert "loss" not in whole["link"]


def test_choices_cover_the_rates_without_a_gap(plan):
    made = plan(*PLAN, *FEW, "--rate-range", "1Mbps..1Gbps")

    for choices in (made["choices"], made["exact_choices"]):
        assert choices[0]["from_bit_per_s"] == 1e6
        assert choices[-1]["to_bit_per_s"] == 1e9
        assert len(choices) >= 2
        for before, after in zip(choices, choices[1:]):
            assert before["to_bit_per_s"] == after["from_bit_per_s"]
            assert before["candidate"] != after["candidate"]
    for choice in made["exact_choices"]:
        assert made["candidates"][choice["candidate"]]["changes_answer"] is False


def test_what_exceeds_the_budget_is_shown_with_the_reason(thinwire):
    done = thinwire(*PLAN, *FEW, "--max-bits", "500kB")

    assert done.returncode == 0
    assert "why not" in done.stdout
    assert "more than --max-bits=500kB" in done.stdout


def test_a_budget_that_nothing_meets_leaves_no_best(thinwire):
    done = thinwire(*PLAN, *FEW, "--max-latency", "1us")

    assert done.returncode == 0
    assert "none: nothing meets" in done.stdout


def test_a_profile_gives_rates_memory_and_link(plan, write_document):
    link = {"rate_bit_per_s": 2e7, "latency_s": 0.001, "topology": "broadcast", "overhead": "tcp"}
    file = write_document(profile(link=link, memory_bytes=2 * 10**9))

    made = plan("plan", "--profile", file, "--devices", "2", "--strategy", "single,voltage")

    assert made["link"] == link
    assert made["candidates"][0]["run"]["overhead"] == "tcp"
    voltage = next(c for c in made["candidates"] if c["options"]["strategy"] == "voltage")
    expected = [20 + 140 * (rows - 1) / 196 for rows in voltage["rows"]]
    assert voltage["device_gflops"] == pytest.approx(expected)
    assert voltage["run"]["memory"].startswith("2")


def test_accuracies_come_from_records(thinwire, plan):
    (record,) = thinwire.records(
        "predict", "--strategy", "prism", "--devices", "3", "--segments", "5"
    )
    record["accuracy"] = {
        "metric": "top-1", "value": 0.7, "samples": 10, "interval_95": [0.4, 0.9],
    }  # fmt: skip
    (thinwire.folder / "known.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")

    made = plan(*PLAN, *FEW, "--records", "known.jsonl", "--min-accuracy", "0.8")

    best, *others = made["candidates"]
    assert best["changes_answer"] is False
    known = next(c for c in others if c["accuracy"])
    assert known["options"] == {"strategy": "prism", "segments": "5"}
    assert "0.7 is below" in known["excluded"]


BAD_PLANS = {
    "no devices": (("plan",), ("--devices", "--device-gflops=160,80")),
    "no rates": (("plan", "--devices", "2"), ("--device-gflops", "--profile")),
    "two numbers of devices": (
        ("plan", "--devices", "2,3", "--device-gflops", "1"), ("--devices=2,3",)),
    "an objective that is none": ((*PLAN, "--objective", "speed"), ("--objective=speed", "energy")),
    "energy without powers": ((*PLAN, "--objective", "energy"), ("--device-power",)),
    "a budget without a unit": ((*PLAN, "--max-bits", "5"), ("--max-bits=5", "unit")),
    "a floor without records": ((*PLAN, "--min-accuracy", "0.8"), ("--records",)),
    "records that are not there": ((*PLAN, "--records", "none.jsonl"), ("none.jsonl",)),
    "one rate for a range": ((*PLAN, "--rate-range", "1Mbps"), ("--rate-range=1Mbps", "..")),
    "a range upside down": ((*PLAN, "--rate-range", "1Gbps..1Mbps"), ("slower rate comes first",)),
    "a profile that is not there": (("plan", "--profile", "no.json"), ("no.json",)),
    "an option of run": ((*PLAN, "--iterations", "3"), ("--iterations",)),
    "an unknown strategy": ((*PLAN, "--strategy", "prysm"), ("prysm", "prism")),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_PLANS)
def test_bad_plans_cost_one_line(name, thinwire):
    arguments, words = BAD_PLANS[name]

    done = thinwire(*arguments)

    assert done.returncode == 2, done.stdout
    assert len(done.stderr.splitlines()) == 1, done.stderr
    for word in words:
        assert word in done.stderr


def test_a_profile_of_another_model_is_refused(thinwire, write_document):
    file = write_document(profile(model="gpt2"))

    done = thinwire("plan", "--profile", file, "--devices", "2")

    assert done.returncode == 2
    assert "gpt2" in done.stderr and "vit-base-16" in done.stderr


# ---- run and predict ---------------------------------------------------------------------------

UNEQUAL = ("--devices", "3", "--device-gflops", "3,2,1", "--rate", "10Mbps")


def test_run_divides_the_rows_as_predict_does_and_records_them(thinwire, vit_tiny, schema):
    options = ("--model", vit_tiny, *UNEQUAL, "--partition", "auto")
    (predicted,) = thinwire.records("predict", *options)
    (thinwire.folder / "result.jsonl").unlink()

    (ran,) = thinwire.records("run", *options, "--clock", "modelled", "--iterations", "1")

    jsonschema.Draft202012Validator(schema).validate(ran)
    assert ran["spec"]["partition"] == "auto"
    assert sum(ran["spec"]["rows"]) == 17 and ran["spec"]["rows"] == predicted["spec"]["rows"]
    assert ran["checks"]["counted_equals_predicted"] is True
    figures = [r["time"]["links"][0]["latency_s"]["p50"] for r in (ran, predicted)]
    assert figures[0] == figures[1]


def test_a_sweep_with_auto_is_resumed_without_repetition(thinwire, vit_tiny):
    sweep = ("predict", "--model", vit_tiny, "--strategy", "trace-b", *UNEQUAL,
             "--partition", "auto,balanced", "--level", "auto,0", "--json", "auto.jsonl")  # fmt: skip
    assert thinwire(*sweep).returncode == 0
    before = thinwire.read("auto.jsonl")

    again = thinwire(*sweep)

    assert "0 points done" in again.stderr, again.stderr
    assert thinwire.read("auto.jsonl") == before
    assert all(isinstance(record["spec"]["level"], int) for record in before)


@pytest.mark.parametrize("option", ("partition", "level"))
def test_auto_needs_to_know_how_fast_devices_are(option, thinwire, vit_tiny):
    done = thinwire("run", "--model", vit_tiny, "--strategy", "trace-b", "--devices", "2",
                    f"--{option}", "auto")  # fmt: skip

    assert done.returncode == 2
    assert f"--{option}=auto" in done.stderr and "--device-gflops" in done.stderr


def test_energy_is_recorded_where_powers_are_stated(thinwire, vit_tiny, schema):
    (record,) = thinwire.records(
        "predict", "--model", vit_tiny, *UNEQUAL, "--device-power", "5", "--idle-power", "2,2,1",
        "--radio-power", "0.5", "--topology", "broadcast",
    )  # fmt: skip

    jsonschema.Draft202012Validator(schema).validate(record)
    (link,) = record["time"]["links"]
    latency_s = link["latency_s"]["p50"]
    bits = [8 * count for count in record["traffic"]["per_device"]["wire_bytes"]]
    for device, idle_w in enumerate((2, 2, 1)):
        compute_s = link["per_device"][device]["compute_s"]["p50"]
        radio_s = sum(bits) / 1e7  # what it sends, and what it hears of its peers
        expected = 5 * compute_s + idle_w * (latency_s - compute_s) + 0.5 * radio_s
        assert link["energy"]["per_device_j"][device] == pytest.approx(expected)
    assert link["energy"]["total_j"] == pytest.approx(sum(link["energy"]["per_device_j"]))


def test_energy_needs_the_power_of_computing(thinwire):
    done = thinwire("predict", "--idle-power", "2")

    assert done.returncode == 2
    assert "--device-power" in done.stderr


def test_records_without_powers_have_no_energy(thinwire, vit_tiny):
    (record,) = thinwire.records("predict", "--model", vit_tiny, *UNEQUAL)

    assert "energy" not in record["time"]["links"][0]
