"""Models of a moment and a worker without an engine, for the tests of experiments/peers."""

import pytest
from places import BINARY, REPOSITORY

ROOM = REPOSITORY / "experiments" / "peers"
WORKER = BINARY.parents[2] / "experiments" / "peers" / "thinwire_latency_worker"
needs_worker = pytest.mark.skipif(not WORKER.exists(), reason=f"no {WORKER}: not built")

ENCODER = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
           "intermediate_size": 32, "hidden_act": "gelu", "layer_norm_eps": 1e-12}
TINY = {
    "vit": {"model_type": "vit", **ENCODER, "image_size": 8, "patch_size": 4, "num_channels": 3,
            "qkv_bias": True, "num_labels": 5},
    "bert": {"model_type": "bert", **ENCODER, "max_position_embeddings": 9, "vocab_size": 30,
             "type_vocab_size": 2, "num_labels": 2},
    "gpt2": {"model_type": "gpt2", "n_embd": 16, "n_layer": 2, "n_head": 2, "n_inner": 32, "n_positions": 9,
             "vocab_size": 30, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new"},
}

# Serves an engine whose three outputs are given as words; "fail" cannot start.
PRETENDER = f"""
import sys
sys.path.insert(0, {str(ROOM)!r})
from worker_loop import work

class Pretender:
    version = "pretender 1.0"
    def __init__(self):
        print("chatter that is no answer")
        if sys.argv[1] == "fail":
            raise ImportError("No module named 'engine'")
    def run(self):
        pass
    def output(self):
        return [float(word) for word in sys.argv[1].split(",")]

sys.exit(work(Pretender))
"""
