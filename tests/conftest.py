"""What the tests of the command line, the jobs and the installation share."""

import json

import pytest
from places import BINARY, SCHEMA


def pytest_collection_modifyitems(items):
    if not BINARY.exists() and items:
        raise pytest.UsageError(f"no program {BINARY}: build the release preset or set THINWIRE")


@pytest.fixture(scope="session")
def schema():
    return json.loads(SCHEMA.read_text(encoding="utf-8"))
