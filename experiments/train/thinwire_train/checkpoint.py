"""Hugging Face folders, read and written without transformers.

A folder has config.json and model.safetensors, and preprocessor_config.json for pictures. Our
modules have one set of names for all families; `hugging_face_names` says what each is called in a
file. GPT-2 keeps its matrices transposed, and Q, K and V in one tensor.
"""

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from thinwire_train.config import read_config
from thinwire_train.errors import InputError
from thinwire_train.models import Transformer
from thinwire_train.tensor_file import write_tensors

PREFIXES = {"vit": "vit.", "bert": "bert.", "gpt2": "transformer."}
# What a reader of the new folder needs beside the weights.
COPIED_FILES = (
    "preprocessor_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "LICENSE.txt",
)
BLOCK_NAMES = {
    "vit": {
        "norm1": "layernorm_before",
        "norm2": "layernorm_after",
        "query": "attention.attention.query",
        "key": "attention.attention.key",
        "value": "attention.attention.value",
        "output": "attention.output.dense",
        "up": "intermediate.dense",
        "down": "output.dense",
    },
    "bert": {
        "norm1": "attention.output.LayerNorm",
        "norm2": "output.LayerNorm",
        "query": "attention.self.query",
        "key": "attention.self.key",
        "value": "attention.self.value",
        "output": "attention.output.dense",
        "up": "intermediate.dense",
        "down": "output.dense",
    },
    "gpt2": {
        "norm1": "ln_1",
        "norm2": "ln_2",
        "output": "attn.c_proj",
        "up": "mlp.c_fc",
        "down": "mlp.c_proj",
    },
}
OTHER_NAMES = {
    "vit": {
        "embedding.class_token": "embeddings.cls_token",
        "embedding.positions": "embeddings.position_embeddings",
        "embedding.projection": "embeddings.patch_embeddings.projection",
        "head.norm": "layernorm",
    },
    "bert": {
        "embedding.words": "embeddings.word_embeddings",
        "embedding.positions": "embeddings.position_embeddings",
        "embedding.types": "embeddings.token_type_embeddings",
        "embedding.norm": "embeddings.LayerNorm",
        "head.pooler": "pooler.dense",
    },
    "gpt2": {
        "embedding.words": "wte",
        "embedding.positions": "wpe",
        "head.norm": "ln_f",
    },
}
# Tensors that published checkpoints carry and inference does not read.
UNUSED_ENDINGS = (".attn.bias", "masked_bias", "position_ids")
UNUSED_BEGINNINGS = ("cls.", "pooler.")


@dataclass
class Checkpoint:
    """A model and what its folder said besides."""

    model: Transformer
    keys: dict  # config.json as it was
    folder: Path = None  # where it came from
    unused: dict = field(default_factory=dict)  # tensors to hand on, by their name in the file
    has_prefix: bool = True

    @property
    def config(self):
        return self.model.config


def read_checkpoint(folder):
    """Raises InputError naming the folder, file or tensor at fault."""
    folder = Path(folder)
    for name in ("config.json", "model.safetensors"):
        if not (folder / name).is_file():
            raise InputError(
                f"--model={folder}: {name} is missing (a Hugging Face folder is needed)"
            )
    keys = read_json(folder / "config.json")
    try:
        tensors = load_file(folder / "model.safetensors")
    except SafetensorError as error:
        raise InputError(f"{folder / 'model.safetensors'}: {error}") from None
    config = read_config(keys, "classifier.weight" in tensors, folder.name)
    model = Transformer(config, has_own_words="lm_head.weight" in tensors)
    result = Checkpoint(model, keys, folder)
    _fill(result, tensors)
    return result


def write_checkpoint(checkpoint, folder):
    """Writes a folder that thinwire and transformers load; files beside the weights come along."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    keys = dict(checkpoint.keys)
    for name in ("dtype", "torch_dtype"):
        if name in keys:
            keys[name] = "float32"
    _write_json(folder / "config.json", keys)
    if checkpoint.folder is not None and checkpoint.folder.resolve() != folder.resolve():
        for name in COPIED_FILES:
            if (checkpoint.folder / name).is_file():
                shutil.copyfile(checkpoint.folder / name, folder / name)
    write_tensors(folder / "model.safetensors", to_hugging_face(checkpoint), {"format": "pt"})


def to_hugging_face(checkpoint):
    """The model's weights as a file has them: name -> fp32 tensor."""
    config = checkpoint.config
    own = {name: tensor.detach() for name, tensor in checkpoint.model.named_parameters()}
    tensors = {name: tensor.contiguous() for name, tensor in checkpoint.unused.items()}
    for theirs, ours in hugging_face_names(config, own):
        parts = [own[name].t() if _is_transposed(config, name) else own[name] for name in ours]
        joined = torch.cat(parts, dim=-1) if len(parts) > 1 else parts[0]
        tensors[_with_prefix(theirs, checkpoint)] = joined.to(torch.float32).clone(
            memory_format=torch.contiguous_format
        )
    return tensors


def hugging_face_names(config, own_names):
    """Pairs (name in a file without the backbone's prefix, [our names]); several for GPT-2's
    fused Q, K, V, in their order along the last dimension of the file's tensor."""
    pairs = []
    for name in own_names:
        part, _, kind = name.rpartition(".")
        if part.startswith("blocks."):
            _, layer, inner = part.split(".")
            if config.family == "gpt2":
                if inner in ("key", "value"):
                    continue
                if inner == "query":
                    three = [f"blocks.{layer}.{q}.{kind}" for q in ("query", "key", "value")]
                    pairs.append((f"h.{layer}.attn.c_attn.{kind}", three))
                    continue
            start = f"h.{layer}." if config.family == "gpt2" else f"encoder.layer.{layer}."
            pairs.append((f"{start}{BLOCK_NAMES[config.family][inner]}.{kind}", [name]))
        elif name == "language_model":
            pairs.append(("lm_head.weight", [name]))
        elif part == "head.classifier":
            pairs.append((f"classifier.{kind}", [name]))
        elif name in OTHER_NAMES[config.family]:
            pairs.append((OTHER_NAMES[config.family][name], [name]))
        else:
            pairs.append((f"{OTHER_NAMES[config.family][part]}.{kind}", [name]))
    return pairs


def read_json(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not JSON ({error})") from None


def _fill(checkpoint, tensors):
    config = checkpoint.config
    own = dict(checkpoint.model.named_parameters())
    prefix = PREFIXES[config.family]
    checkpoint.has_prefix = any(name.startswith(prefix) for name in tensors)
    given = {_canonical(name, prefix): name for name in tensors}
    for theirs, ours in hugging_face_names(config, own):
        if theirs not in given:
            raise InputError(f"{checkpoint.folder}: tensor {theirs} is missing")
        values = tensors[given.pop(theirs)].to(torch.float32)
        parts = values.chunk(len(ours), dim=-1)
        for name, part in zip(ours, parts):
            part = part.t() if _is_transposed(config, name) else part
            if part.shape != own[name].shape:
                raise InputError(
                    f"{checkpoint.folder}: tensor {theirs} has shape {list(values.shape)}, which "
                    "config.json does not fit"
                )
            own[name].data.copy_(part)
    for canonical, name in given.items():
        if not canonical.endswith(UNUSED_ENDINGS) and not canonical.startswith(UNUSED_BEGINNINGS):
            raise InputError(
                f"{checkpoint.folder}: tensor {name} belongs to no part of the model that "
                "config.json describes"
            )
        checkpoint.unused[name] = tensors[name]


def _canonical(name, prefix):
    name = name[len(prefix) :] if name.startswith(prefix) else name
    # LayerNorm in checkpoints converted from TensorFlow.
    name = name.replace("LayerNorm.gamma", "LayerNorm.weight")
    return name.replace("LayerNorm.beta", "LayerNorm.bias")


def _is_transposed(config, name):
    return config.family == "gpt2" and name.startswith("blocks.") and "norm" not in name


def _with_prefix(name, checkpoint):
    if not checkpoint.has_prefix or name.startswith(("classifier.", "lm_head.")):
        return name
    return PREFIXES[checkpoint.config.family] + name


def _write_json(path, keys):
    path.write_text(json.dumps(keys, indent=2) + "\n", encoding="utf-8")
