"""Files of experiments/micro: how they are made, and how two of them compare."""

import json

import pytest

from thinwire_analysis import micro, micro_file
from thinwire_analysis.cli import main
from thinwire_analysis.errors import InputError

CONTEXT = {"thinwire": "0.1.0", "git_revision": "abc", "cpu": "EPYC", "num_cpus": 2,
           "threads": "2", "compiler": "GCC 12", "onednn": "2.6.3"}  # fmt: skip


def entry(median_s, spread=0.01, repetitions=15, **rates):
    return {
        "median_s": median_s,
        "p25_s": median_s * (1 - spread),
        "p75_s": median_s * (1 + spread),
        "repetitions": repetitions,
        **rates,
    }


@pytest.fixture
def write(tmp_path):
    def write(name, benchmarks, **context):
        path = tmp_path / name
        document = {
            "schema": micro_file.SCHEMA,
            "context": {**CONTEXT, **context},
            "benchmarks": benchmarks,
        }
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    return write


def google(name, times, unit="us", **counters):
    return [
        {"name": name, "run_name": name, "run_type": "iteration", "real_time": time,
         "time_unit": unit, "cpu_time": 1.0, **counters}
        for time in times
    ]  # fmt: skip


def test_verdicts_go_by_the_middle_halves(write):
    a = write("a.json", {name: entry(1e-3) for name in ("gained", "lost", "equal")})
    b = write("b.json", {
        "gained": entry(0.9e-3), "lost": entry(1.1e-3), "equal": entry(1.1e-3, spread=0.2),
    })  # fmt: skip

    found = micro.compare(a, b)

    assert [found.verdict(name) for name in ("gained", "lost", "equal")] == [
        "faster", "slower", "same",
    ]  # fmt: skip
    assert found.ratios["gained"] == pytest.approx(0.9)
    assert found.geometric_mean() == pytest.approx((0.9 * 1.1 * 1.1) ** (1 / 3))


def test_prints_a_row_a_benchmark_and_what_is_missing(write, capsys):
    a = write("a.json", {"linear": entry(2e-3), "old": entry(1.0)})
    b = write("b.json", {"linear": entry(1e-3, gflop_per_s=200.0), "new": entry(1.0)})

    status = main(["micro", str(a), str(b)])

    text = capsys.readouterr().out
    assert status == 0
    assert "| linear | 2 ms | 1.0 | 1 ms | 1.0 | 0.500 | 200 |  | faster |" in text
    assert "geometric mean of B / A over 1 benchmarks: 0.500; 1 faster, 0 slower, 0 same" in text
    assert "only in A: old" in text and "only in B: new" in text
    assert "different: nothing" in text and "repetitions" not in text


def test_says_in_what_the_runs_differ(write):
    a = write("a.json", {"linear": entry(1.0)})
    b = write("b.json", {"linear": entry(1.0, repetitions=3)}, threads="1", cpu="Xeon")

    text = micro.report(micro.compare(a, b))

    assert "different: cpu EPYC / Xeon; threads 2 / 1" in text
    assert "only 3 repetitions" in text


def test_files_without_a_common_benchmark(write):
    text = micro.report(
        micro.compare(write("a.json", {"x": entry(1.0)}), write("b.json", {"y": entry(1.0)}))
    )

    assert "no benchmark is in both files" in text


@pytest.mark.parametrize(
    "text, reason",
    [
        ("", "Expecting value"),
        ("[]", "expected 'thinwire.micro/1'"),
        ('{"schema": "thinwire.result/1"}', "expected 'thinwire.micro/1'"),
        ('{"schema": "thinwire.micro/1"}', "broken"),
        ('{"schema": "thinwire.micro/1", "context": {}, "benchmarks": {}}', "no benchmarks"),
        (json.dumps({"schema": "thinwire.micro/1", "context": {},
                     "benchmarks": {"x": entry(0.0)}}), "broken"),
    ],
)  # fmt: skip
def test_refuses_what_is_no_such_file(text, reason, write, tmp_path, capsys):
    broken = tmp_path / "broken.json"
    broken.write_text(text, encoding="utf-8")

    status = main(["micro", str(write("a.json", {"x": entry(1.0)})), str(broken)])

    error = capsys.readouterr().err
    assert status == 2
    assert error.count("\n") == 1 and "broken.json" in error and reason in error


def test_condenses_repetitions_of_google_benchmark(tmp_path):
    raw, out = tmp_path / "raw.json", tmp_path / "out.json"
    document = {
        "context": {**CONTEXT, "host_name": "secret", "executable": "/home/secret/micro"},
        "benchmarks": [
            *google("linear/rows:98/real_time", [30, 10, 20, 40, 50], **{"GFLOP/s": 7.0}),
            *google("search/iterations:5/repeats:5/manual_time", [2.0], unit="ms", **{"GB/s": 3.0}),
            {"name": "linear_median", "run_name": "linear", "run_type": "aggregate"},
        ],
    }
    raw.write_text(json.dumps(document), encoding="utf-8")

    status = micro_file.main([str(raw), str(out)])

    assert status == 0
    assert "secret" not in out.read_text(encoding="utf-8")
    found = micro_file.load(out)
    assert found.context == CONTEXT
    linear, search = found.timings["linear/rows:98"], found.timings["search"]
    assert (linear.p25_s, linear.median_s, linear.p75_s) == pytest.approx((20e-6, 30e-6, 40e-6))
    assert linear.repetitions == 5 and linear.rates == {"gflop_per_s": 7.0}
    assert (search.median_s, search.p75_s) == (2e-3, 2e-3) and search.rates == {"gb_per_s": 3.0}


def test_keeps_the_order_in_which_benchmarks_are_written_down(tmp_path):
    raw = tmp_path / "raw.json"
    places = [("b/rows:33", 1, 1), ("a/rows:98", 0, 0), ("b/rows:197", 1, 0)]
    entries = [
        {**google(name, [1.0])[0], "family_index": family, "per_family_instance_index": instance}
        for name, family, instance in places
    ]
    raw.write_text(json.dumps({"context": {}, "benchmarks": entries}), encoding="utf-8")

    assert list(micro_file.condense(raw)["benchmarks"]) == ["a/rows:98", "b/rows:197", "b/rows:33"]


@pytest.mark.parametrize("text", ["{}", '{"context": {}, "benchmarks": []}', "[", "[]"])
def test_condenses_nothing_else(text, tmp_path, capsys):
    raw = tmp_path / "raw.json"
    raw.write_text(text, encoding="utf-8")

    with pytest.raises(InputError, match="raw.json"):
        micro_file.condense(raw)
    assert micro_file.main([str(raw), str(tmp_path / "out.json")]) == 2
    assert "raw.json" in capsys.readouterr().err
    assert micro_file.main([]) == 2
    assert not (tmp_path / "out.json").exists()
