"""The script from its options to its exit status; thinwire's own worker stands for a peer."""

import json
import sys

import engines
import latency
import pytest
from tiny_peers import TINY, WORKER, needs_worker

CONFIGS = {f"tiny-{name}": config for name, config in TINY.items()}  # names without targets


class Peer:
    """What engines.Engine offers, with the command of another worker."""

    has_bf16, environment = True, {}

    def __init__(self, command):
        self.command = command


@pytest.fixture
def run(monkeypatch, tmp_path, pretender):
    """Runs the script on tiny models with these peers; returns its status and its figures."""
    peers = {
        "twin": Peer(lambda folder, threads, dtype: engines.our_command(WORKER, folder, threads,
                                                                         dtype)),
        "wrong": Peer(lambda *_: pretender("1,2,3")),
        "absent": Peer(lambda *_: pretender("fail")),
    }
    monkeypatch.setattr(latency, "PEERS", peers)
    monkeypatch.setattr(latency, "CONFIGS", CONFIGS)

    def run(*options):
        figures = tmp_path / "figures.json"
        words = ["latency.py", "--worker", WORKER, "--folder", tmp_path / "peers", "--threads", 1,
                 "--rounds", 3, "--json", figures, *options]
        monkeypatch.setattr(sys, "argv", [str(word) for word in words])
        return latency.main(), json.loads(figures.read_text())

    return run


@needs_worker
def test_all_models_are_timed_beside_peers_that_agree(run, capsys):
    status, figures = run("--engines", "twin")

    # No targets are set for tiny models but the outputs must agree.
    assert status == 0 and figures["holds"]
    assert [comparison["model"] for comparison in figures["comparisons"]] == list(CONFIGS)
    for comparison in figures["comparisons"]:
        assert comparison["output_differences"] == {"twin": 0}
        assert {name: len(times) for name, times in comparison["seconds"].items()} == {
            "thinwire": 3, "ceiling": 3, "twin": 3}
        assert set(comparison["ratios"]) == {"twin, the best peer", "the bare matrix products"}
    assert "a verdict needs 15 rounds" in capsys.readouterr().out


@needs_worker
def test_engine_that_is_absent_is_skipped_with_a_line(run, capsys):
    status, figures = run("--models", "tiny-vit", "--engines", "absent,twin")

    assert status == 0 and "absent" not in figures["comparisons"][0]["seconds"]
    assert "skipped absent: ImportError: No module named 'engine'\n" in capsys.readouterr().out


@needs_worker
@pytest.mark.parametrize("peers, complaint", [
    ("wrong,twin", "FAIL  outputs of wrong differ by inf"),
    ("absent", "FAIL  no peer took part")])
def test_wrong_outputs_and_no_peers_fail(run, capsys, peers, complaint):
    status, figures = run("--models", "tiny-vit", "--engines", peers)

    assert status == 1 and not figures["holds"]
    assert complaint in capsys.readouterr().out


@pytest.mark.parametrize("options, reason", [
    (["--models", "opt"], "--models=opt: opt is not known (known: tiny-vit, tiny-bert, tiny-gpt2)"),
    (["--engines", "abacus"], "--engines=abacus: abacus is not known"),
    (["--threads", "1,x"], "--threads=1,x: numbers with commas between"),
    (["--threads", "4096"], "--threads=4096: between 1 and"),
    (["--rounds", "0"], "--rounds=0: at least 1")])
def test_wrong_usage_is_explained(run, capsys, options, reason):
    with pytest.raises(SystemExit) as stopped:
        run(*options)

    assert stopped.value.code == 2
    assert reason in capsys.readouterr().err
