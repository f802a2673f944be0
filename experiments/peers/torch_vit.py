"""A Vision Transformer in PyTorch, with the weights of a Hugging Face folder."""

import json
from pathlib import Path

import safetensors.torch
import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """x [batch, N, D] -> x; Q, K and V are one product, attention is PyTorch's fused one."""

    def __init__(self, hidden, heads, ffn, epsilon):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(hidden, epsilon)
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.output = nn.Linear(hidden, hidden)
        self.norm2 = nn.LayerNorm(hidden, epsilon)
        self.up = nn.Linear(hidden, ffn)
        self.down = nn.Linear(ffn, hidden)

    def forward(self, x):
        batch, tokens, hidden = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, hidden // self.heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(query, key, value)
        x = x + self.output(attended.transpose(1, 2).reshape(batch, tokens, hidden))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class VisionTransformer(nn.Module):
    """Pixels [batch, channels, H, W] -> logits [batch, labels]."""

    def __init__(self, config, labels):
        super().__init__()
        hidden, epsilon = config["hidden_size"], config["layer_norm_eps"]
        patch = config["patch_size"]
        tokens = 1 + (config["image_size"] // patch) ** 2
        self.patches = nn.Conv2d(config["num_channels"], hidden, patch, patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, hidden))
        self.positions = nn.Parameter(torch.zeros(1, tokens, hidden))
        self.blocks = nn.ModuleList(
            Block(hidden, config["num_attention_heads"], config["intermediate_size"], epsilon)
            for _ in range(config["num_hidden_layers"]))
        self.norm = nn.LayerNorm(hidden, epsilon)
        self.classifier = nn.Linear(hidden, labels)

    def forward(self, pixels):
        x = self.patches(pixels).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(x.shape[0], -1, -1), x], dim=1) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.classifier(self.norm(x[:, 0]))


def _parameters(weights, layers):
    """The checkpoint's tensors under the names of this file."""
    def dense(ours, theirs):
        return {f"{ours}.{part}": weights[f"{theirs}.{part}"] for part in ("weight", "bias")}

    def stacked(part, layer):
        names = (f"{layer}.attention.attention.{which}.{part}" for which in ("query", "key", "value"))
        return torch.cat([weights[name] for name in names])

    result = {"class_token": weights["vit.embeddings.cls_token"],
              "positions": weights["vit.embeddings.position_embeddings"],
              **dense("patches", "vit.embeddings.patch_embeddings.projection"),
              **dense("norm", "vit.layernorm"), **dense("classifier", "classifier")}
    for number in range(layers):
        ours, theirs = f"blocks.{number}", f"vit.encoder.layer.{number}"
        result |= {f"{ours}.qkv.weight": stacked("weight", theirs),
                   f"{ours}.qkv.bias": stacked("bias", theirs),
                   **dense(f"{ours}.norm1", f"{theirs}.layernorm_before"),
                   **dense(f"{ours}.output", f"{theirs}.attention.output.dense"),
                   **dense(f"{ours}.norm2", f"{theirs}.layernorm_after"),
                   **dense(f"{ours}.up", f"{theirs}.intermediate.dense"),
                   **dense(f"{ours}.down", f"{theirs}.output.dense")}
    return result


def load_model(folder):
    """The model of a folder with config.json and model.safetensors, ready for inference.

    Raises ValueError for another kind of model, KeyError for a tensor that is missing.
    """
    config = json.loads((Path(folder) / "config.json").read_text())
    if config.get("model_type") != "vit" or not config.get("qkv_bias", True):
        raise ValueError(f"{folder}: not a ViT with biases in attention")
    weights = safetensors.torch.load_file(Path(folder) / "model.safetensors")
    model = VisionTransformer(config, labels=weights["classifier.bias"].shape[0])
    model.load_state_dict(_parameters(weights, config["num_hidden_layers"]))
    return model.float().eval()


def load_normalisation(folder):
    """Scale, mean and deviation [1, channels, 1, 1] of preprocessor_config.json."""
    settings = json.loads((Path(folder) / "preprocessor_config.json").read_text())
    def shaped(values):
        return torch.tensor(values).view(1, -1, 1, 1)
    return settings["rescale_factor"], shaped(settings["image_mean"]), shaped(settings["image_std"])


class Preprocessing:
    """Pictures uint8 [n, H, W, 3] -> pixels [n, 3, H, W], as the model's folder says."""

    def __init__(self, folder):
        self.scale, self.mean, self.deviation = load_normalisation(folder)

    def __call__(self, pictures):
        pixels = pictures.permute(0, 3, 1, 2).float() * self.scale
        return (pixels - self.mean) / self.deviation
