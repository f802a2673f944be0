"""The graph and the module that peers run, where their packages are, against thinwire."""

import models
import numpy as np
import pytest
from tiny_peers import WORKER, needs_worker
from workers import Worker


@pytest.fixture
def ours(folder, tmp_path):
    """thinwire's outputs."""
    worker = Worker("thinwire", [WORKER, folder / "input.bin", f"model={folder}"])
    try:
        worker.started().write_output(tmp_path / "ours")
    finally:
        worker.end()
    return np.fromfile(tmp_path / "ours", dtype=np.float32)


def differ(ours, theirs):
    return abs(ours - np.asarray(theirs).ravel()).max() / abs(ours).max()


@needs_worker
def test_onnx_graph_computes_the_same(folder, ours):
    pytest.importorskip("onnx", reason="onnx is one of the optional packages of latency.sh")
    from onnx.reference import ReferenceEvaluator
    from onnx_graph import make_graph

    graph = make_graph(models.read_model(folder))
    theirs, = ReferenceEvaluator(graph).run(None, {"input": models.read_input(folder)})

    assert differ(ours, theirs) < 1e-5


@needs_worker
def test_torch_module_computes_the_same(folder, ours):
    torch = pytest.importorskip("torch", reason="PyTorch is optional")
    from torch_transformer import load_model

    with torch.inference_mode():
        theirs = load_model(folder)(torch.from_numpy(models.read_input(folder)))

    assert differ(ours, theirs) < 1e-5
