"""Help that teaches: commands, options with their units, an example."""

import pytest

COMMANDS = (
    "run", "sweep", "predict", "eval", "plan", "compare", "tables", "codebook", "calibrate", "link-check",
    "list",
)  # fmt: skip


def test_help_names_the_commands(thinwire):
    done = thinwire("--help")

    assert done.returncode == 0
    for command in COMMANDS:
        assert command in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_explains_itself(command, thinwire):
    done = thinwire(command, "--help")

    assert done.returncode == 0, done.stderr
    assert f"thinwire {command}" in done.stdout  # a usage line or an example
    assert done.stderr == ""


def test_help_of_run_names_options_and_units(thinwire):
    text = thinwire("run", "--help").stdout

    for option in ("--model", "--strategy", "--devices", "--segments", "--rate", "--clock",
                   "--json", "--iterations"):  # fmt: skip
        assert option in text
    assert "Mbps" in text


def test_without_a_command_the_overview_is_printed(thinwire):
    done = thinwire()

    assert done.returncode == 0
    assert done.stdout == thinwire("--help").stdout


def test_list_shows_models_strategies_and_topologies(thinwire):
    text = thinwire("list").stdout

    for name in ("vit-base-16", "bert-base", "gpt2", "vivit-base-16x2", "single", "voltage",
                 "prism", "broadcast", "unicast", "shared"):  # fmt: skip
        assert name in text


def test_version_is_printed(thinwire):
    done = thinwire("--version")

    assert done.returncode == 0
    assert "0.1.0" in done.stdout


def test_run_prints_the_latency_for_people(thinwire, vit_tiny):
    done = thinwire("run", "--model", vit_tiny, "--iterations", "2", "--warmup", "0")

    assert done.returncode == 0, done.stderr
    assert "latency" in done.stdout.lower()
    assert thinwire.files() == []


def test_help_shows_defaults_and_the_states_of_switches(thinwire):
    text = " ".join(thinwire("run", "--help").stdout.split())

    assert "reported iterations (default 10)" in text
    assert "--hidden [on|off]" in text


def test_one_dash_h_is_help(thinwire):
    assert thinwire("run", "-h").stdout == thinwire("run", "--help").stdout


def test_small_models_have_operations_too(thinwire, vit_tiny):
    text = thinwire("predict", "--model", vit_tiny).stdout

    assert "MFLOPs in all" in text and " 0.00 " not in text
