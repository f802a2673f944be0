"""The models of the comparison: Hugging Face folders with random weights, and what they compute.

A folder holds config.json and model.safetensors, as `thinwire run --model DIR` reads them, and the
input that every engine gets: input.bin, fp32 pixels [channels, H, W] or int32 token numbers [N].
`read_model` gives the weights under one set of names for all families, so that the ONNX graph and
the PyTorch module are written once.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

ENCODER = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
           "intermediate_size": 3072, "hidden_act": "gelu", "layer_norm_eps": 1e-12}
CONFIGS = {
    "vit-base-16": {"model_type": "vit", **ENCODER, "image_size": 224, "patch_size": 16,
                    "num_channels": 3, "qkv_bias": True, "num_labels": 1000},
    "bert-base": {"model_type": "bert", **ENCODER, "max_position_embeddings": 512,
                  "vocab_size": 30522, "type_vocab_size": 2, "num_labels": 2},
    "gpt2": {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
             "vocab_size": 50257, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new"},
}
TEXT_TOKENS = 256
DEVIATION = 0.02


@dataclass(frozen=True)
class Shape:
    """Sizes of a model under one name for all families."""

    family: str
    hidden: int
    layers: int
    heads: int
    ffn: int
    tokens: int  # N of a pass
    epsilon: float
    tanh_gelu: bool

    @property
    def is_causal(self):
        return self.family == "gpt2"

    @property
    def is_text(self):
        return self.family != "vit"

    @property
    def norm_first(self):
        return self.family != "bert"


@dataclass(frozen=True)
class Block:
    """One block; dense layers are (weight [inputs, outputs], bias), norms (weight, bias)."""

    norm1: tuple
    norm2: tuple
    qkv: tuple  # outputs: queries, keys, values
    output: tuple
    up: tuple
    down: tuple


@dataclass(frozen=True)
class Model:
    """A folder's weights. `tensors` are those outside the blocks, without the family's prefix."""

    config: dict
    shape: Shape
    tensors: dict
    blocks: list

    def dense(self, name):
        """A torch-style layer outside the blocks, as (weight [inputs, outputs], bias)."""
        return self.tensors[f"{name}.weight"].T, self.tensors[f"{name}.bias"]

    def norm(self, name):
        return self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]


def shape_of(config):
    """Raises ValueError for a family that is not known, KeyError for a key that is missing."""
    family = config["model_type"]
    if family == "gpt2":
        return Shape(family, config["n_embd"], config["n_layer"], config["n_head"],
                     config.get("n_inner") or 4 * config["n_embd"],
                     min(TEXT_TOKENS, config["n_positions"]), config["layer_norm_epsilon"],
                     config["activation_function"] != "gelu")
    if family == "vit":
        tokens = 1 + (config["image_size"] // config["patch_size"]) ** 2
    elif family == "bert":
        tokens = min(TEXT_TOKENS, config["max_position_embeddings"])
    else:
        raise ValueError(f"model_type {family} (known: vit, bert, gpt2)")
    return Shape(family, config["hidden_size"], config["num_hidden_layers"],
                 config["num_attention_heads"], config["intermediate_size"], tokens,
                 config["layer_norm_eps"], config["hidden_act"] != "gelu")


def _block_names(family, layer):
    """Hugging Face's names of a block's layers; GPT-2 has one for query, key and value."""
    if family == "gpt2":
        h = f"h.{layer}."
        return {"norm1": h + "ln_1", "norm2": h + "ln_2", "qkv": [h + "attn.c_attn"],
                "output": h + "attn.c_proj", "up": h + "mlp.c_fc", "down": h + "mlp.c_proj"}
    is_bert = family == "bert"
    block = f"encoder.layer.{layer}."
    attention = block + ("attention.self." if is_bert else "attention.attention.")
    return {"norm1": block + ("attention.output.LayerNorm" if is_bert else "layernorm_before"),
            "norm2": block + ("output.LayerNorm" if is_bert else "layernorm_after"),
            "qkv": [attention + part for part in ("query", "key", "value")],
            "output": block + "attention.output.dense", "up": block + "intermediate.dense",
            "down": block + "output.dense"}


def _block_shapes(shape, layer):
    """Tensor shapes of a block. GPT-2 keeps dense weights as [inputs, outputs], the others don't."""
    names, hidden = _block_names(shape.family, layer), shape.hidden
    result = {}

    def dense(name, inputs, outputs):
        by_inputs = shape.family == "gpt2"
        result[name + ".weight"] = (inputs, outputs) if by_inputs else (outputs, inputs)
        result[name + ".bias"] = (outputs,)

    for name in (names["norm1"], names["norm2"]):
        result[name + ".weight"] = result[name + ".bias"] = (hidden,)
    for name in names["qkv"]:
        dense(name, hidden, 3 * hidden // len(names["qkv"]))
    dense(names["output"], hidden, hidden)
    dense(names["up"], hidden, shape.ffn)
    dense(names["down"], shape.ffn, hidden)
    return result


def tensor_shapes(config):
    """Shapes of all tensors of a checkpoint, by Hugging Face name without prefix."""
    shape = shape_of(config)
    hidden = shape.hidden
    classifier = {"classifier.weight": (config.get("num_labels", 0), hidden),
                  "classifier.bias": (config.get("num_labels", 0),)}
    if shape.family == "gpt2":
        result = {"wte.weight": (config["vocab_size"], hidden),
                  "wpe.weight": (config["n_positions"], hidden),
                  "ln_f.weight": (hidden,), "ln_f.bias": (hidden,)}
    elif shape.family == "bert":
        tables = {"word": "vocab_size", "position": "max_position_embeddings",
                  "token_type": "type_vocab_size"}
        result = {f"embeddings.{name}_embeddings.weight": (config[key], hidden)
                  for name, key in tables.items()}
        result |= {"embeddings.LayerNorm.weight": (hidden,), "embeddings.LayerNorm.bias": (hidden,),
                   "pooler.dense.weight": (hidden, hidden), "pooler.dense.bias": (hidden,),
                   **classifier}
    else:
        patch = config["patch_size"]
        result = {"embeddings.cls_token": (1, 1, hidden),
                  "embeddings.position_embeddings": (1, shape.tokens, hidden),
                  "embeddings.patch_embeddings.projection.weight":
                      (hidden, config["num_channels"], patch, patch),
                  "embeddings.patch_embeddings.projection.bias": (hidden,),
                  "layernorm.weight": (hidden,), "layernorm.bias": (hidden,), **classifier}
    for layer in range(shape.layers):
        result |= _block_shapes(shape, layer)
    return result


def _is_norm(name):
    return name.endswith(".weight") and any(
        part in name.lower() for part in ("layernorm", ".ln_", "ln_f"))


def random_tensors(config, seed):
    """Uniform values of deviation 0.02, LayerNorm's weights around 1: no bias is left out unseen."""
    generator = np.random.default_rng(seed)
    result = {}
    for name, shape in tensor_shapes(config).items():
        values = generator.random(shape, dtype=np.float32)
        values -= 0.5
        values *= np.float32(DEVIATION * 12 ** 0.5)
        result[name] = values + np.float32(1) if _is_norm(name) else values
    return result


def random_input(config, seed):
    """Pixels in [-1, 1) or token numbers, one sample."""
    generator = np.random.default_rng(seed)
    shape = shape_of(config)
    if shape.is_text:
        return generator.integers(0, config["vocab_size"], shape.tokens, dtype=np.int32)
    side = config["image_size"]
    return generator.random((config["num_channels"], side, side), dtype=np.float32) * 2 - 1


def write_folder(folder, config, seed=0):
    """Writes checkpoint and input, unless the folder has them for this very config and seed."""
    folder = Path(folder)
    wanted = json.dumps({"config": config, "seed": seed})
    stamp = folder / "made-for"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    folder.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    save_file(random_tensors(config, seed), folder / "model.safetensors")
    random_input(config, seed).tofile(folder / "input.bin")
    stamp.write_text(wanted)


def read_input(folder):
    """The input as a batch of one."""
    config = json.loads((Path(folder) / "config.json").read_text())
    if shape_of(config).is_text:
        return np.fromfile(Path(folder) / "input.bin", dtype=np.int32)[None]
    side = config["image_size"]
    pixels = np.fromfile(Path(folder) / "input.bin", dtype=np.float32)
    return pixels.reshape(1, config["num_channels"], side, side)


def _read_block(shape, tensors, layer):
    names = _block_names(shape.family, layer)

    def dense(*layers):
        weights = [tensors.pop(name + ".weight") for name in layers]
        biases = [tensors.pop(name + ".bias") for name in layers]
        weight = weights[0] if shape.family == "gpt2" else np.concatenate(weights).T
        return np.ascontiguousarray(weight), np.concatenate(biases)

    def norm(name):
        return tensors.pop(name + ".weight"), tensors.pop(name + ".bias")

    return Block(norm(names["norm1"]), norm(names["norm2"]), dense(*names["qkv"]),
                 dense(names["output"]), dense(names["up"]), dense(names["down"]))


def read_model(folder):
    """The model of a Hugging Face folder.

    Raises ValueError for a family or form that is not known, KeyError for a missing tensor.
    """
    config = json.loads((Path(folder) / "config.json").read_text())
    shape = shape_of(config)
    prefix = "transformer." if shape.family == "gpt2" else shape.family + "."
    if not config.get("qkv_bias", True):
        raise ValueError(f"{folder}: attention without biases")
    tensors = {name.removeprefix(prefix): values.astype(np.float32, copy=False)
               for name, values in load_file(Path(folder) / "model.safetensors").items()}
    blocks = [_read_block(shape, tensors, layer) for layer in range(shape.layers)]
    return Model(config, shape, tensors, blocks)
