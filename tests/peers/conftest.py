"""Where the modules of experiments/peers are, tiny models and a worker without an engine."""

import sys

import pytest
from tiny_peers import PRETENDER, ROOM, TINY

sys.path.insert(0, str(ROOM))


@pytest.fixture(params=TINY)
def folder(request, tmp_path):
    """A model's folder, named after its family."""
    from models import write_folder

    write_folder(tmp_path / request.param, TINY[request.param])
    return tmp_path / request.param


@pytest.fixture
def pretender(tmp_path):
    """The command of a worker with these outputs."""
    script = tmp_path / "pretender.py"
    script.write_text(PRETENDER)
    return lambda outputs="1,2,3": [sys.executable, script, outputs]
