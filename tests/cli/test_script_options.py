"""Scripts of experiments/ that share scripts/options.sh: help, bad usage, what options set."""

import re
import shutil
import subprocess

import pytest
from places import REPOSITORY

SCRIPTS = {
    "accuracy.sh": ["--quick", "--resume"],
    "reproduce.sh": ["--quick", "--resume"],
    "beyond/run.sh": ["--quick", "--resume", "--json DIR"],
    "beyond/control.sh": ["--quick", "--resume", "--json DIR"],
    "beyond/loss.sh": ["--quick", "--resume", "--json DIR"],
    "beyond/payload.sh": ["--quick", "--resume", "--json DIR"],
    "micro/run.sh": ["--filter REGEX", "--json FILE", "--quick"],
    "validation/run.sh": ["--quick", "--resume", "--realtime"],
}
TIMEOUT_S = 60
# As a script does it: what is not given keeps its value.
READER = """set -euo pipefail
source scripts/options.sh
quick=no json=as-before
read_options "$@"
printf '%s|%s' "$quick" "$json"
"""


def run(*command, **settings):
    return subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, timeout=TIMEOUT_S, **settings
    )


def refused(done, said):
    """One error line, then the usage."""
    first, second, *rest = done.stderr.splitlines()
    return (
        (done.returncode, done.stdout, first) == (2, "", f"error: {said}")
        and second.startswith("Usage: ")
        and not any("error" in line for line in rest)
    )


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_names_every_option_and_the_status(script, flag):
    done = run(f"experiments/{script}", flag)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: experiments/{script} ")
    assert re.findall(r"^  (--[a-z]+(?: [A-Z]+)?)  ", done.stdout, re.M) == SCRIPTS[script]
    assert not re.search("^#|set -", done.stdout, re.M)
    if script != "micro/run.sh":
        assert "2 bad usage." in done.stdout


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("unknown", ["--fast", "study", "--", "", "--quick=yes", "--.*"])
def test_an_unknown_argument_is_bad_usage(script, unknown):
    assert refused(run(f"experiments/{script}", "--quick", unknown), f"unknown argument {unknown}")


@pytest.mark.parametrize("script, option", [
    (script, option) for script, listed in SCRIPTS.items() for option in listed if " " in option
])
def test_an_option_without_its_value_is_bad_usage(script, option):
    name = option.split()[0]

    for arguments in ([name], [name, ""]):
        done = run(f"experiments/{script}", *arguments)
        assert refused(done, f"{name} needs a value: {option}")


def test_a_setting_is_refused_like_an_option():
    done = run("experiments/micro/run.sh", env={"PATH": "/usr/bin:/bin", "REPETITIONS": "few"})

    assert refused(done, "REPETITIONS=few: a number from 1")


@pytest.mark.parametrize("arguments, read", [
    ([], "no|as-before"),
    (["--quick"], "yes|as-before"),
    (["--json", "a folder", "--quick"], "yes|a folder"),
    (["--json", "first", "--json", "--quick"], "no|--quick"),
])
def test_options_set_variables_of_their_names(arguments, read):
    done = run("bash", "-c", READER, "bash", "experiments/beyond/run.sh", *arguments)

    assert (done.stdout, done.stderr) == (read, "")


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="no shellcheck")
def test_the_scripts_are_clean():
    paths = ["scripts/options.sh", *(f"experiments/{script}" for script in SCRIPTS)]

    done = run("shellcheck", "-x", "-s", "bash", *paths)

    assert done.returncode == 0, done.stdout
