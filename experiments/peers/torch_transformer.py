"""ViT, BERT and GPT-2 in PyTorch, with the weights of a Hugging Face folder."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from models import read_model


def _parameter(values):
    return nn.Parameter(torch.from_numpy(np.array(values)), requires_grad=False)


def _dense(layer):
    """(weight [inputs, outputs], bias) as a Linear."""
    weight, bias = layer
    result = nn.Linear(*weight.shape)
    result.weight, result.bias = _parameter(weight.T), _parameter(bias)
    return result


def _norm(norm, epsilon):
    weight, bias = norm
    result = nn.LayerNorm(weight.shape[0], epsilon)
    result.weight, result.bias = _parameter(weight), _parameter(bias)
    return result


class Block(nn.Module):
    """x [batch, N, D] -> x; Q, K and V are one product, attention is PyTorch's fused one."""

    def __init__(self, block, shape):
        super().__init__()
        self.shape = shape
        self.norm1, self.norm2 = (_norm(norm, shape.epsilon) for norm in (block.norm1, block.norm2))
        self.qkv, self.output = _dense(block.qkv), _dense(block.output)
        self.up, self.down = _dense(block.up), _dense(block.down)
        self.gelu = "tanh" if shape.tanh_gelu else "none"

    def attention(self, x):
        batch, tokens, hidden = x.shape
        heads = self.shape.heads
        qkv = self.qkv(x).view(batch, tokens, 3, heads, hidden // heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(query, key, value,
                                                           is_causal=self.shape.is_causal)
        return self.output(attended.transpose(1, 2).reshape(batch, tokens, hidden))

    def feed_forward(self, x):
        return self.down(functional.gelu(self.up(x), approximate=self.gelu))

    def forward(self, x):
        if self.shape.norm_first:
            x = x + self.attention(self.norm1(x))
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.feed_forward(x))


class VisionTransformer(nn.Module):
    """Pixels [batch, channels, H, W] -> logits [batch, labels]."""

    def __init__(self, model):
        super().__init__()
        tensors = model.tensors
        projection = "embeddings.patch_embeddings.projection"
        self.patches, self.patch_bias = (
            _parameter(tensors[f"{projection}.{part}"]) for part in ("weight", "bias"))
        self.class_token = _parameter(tensors["embeddings.cls_token"])
        self.positions = _parameter(tensors["embeddings.position_embeddings"])
        self.blocks = nn.Sequential(*(Block(block, model.shape) for block in model.blocks))
        self.norm = _norm(model.norm("layernorm"), model.shape.epsilon)
        self.classifier = _dense(model.dense("classifier"))

    def forward(self, pixels):
        x = functional.conv2d(pixels, self.patches, self.patch_bias, stride=self.patches.shape[2:])
        x = x.flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(x.shape[0], -1, -1), x], dim=1) + self.positions
        return self.classifier(self.norm(self.blocks(x)[:, 0]))


class Bert(nn.Module):
    """Token numbers [batch, N] -> logits [batch, labels]."""

    def __init__(self, model):
        super().__init__()
        tensors = model.tensors
        self.words = _parameter(tensors["embeddings.word_embeddings.weight"])
        self.positions = _parameter(tensors["embeddings.position_embeddings.weight"]
                                    + tensors["embeddings.token_type_embeddings.weight"][0])
        self.norm = _norm(model.norm("embeddings.LayerNorm"), model.shape.epsilon)
        self.blocks = nn.Sequential(*(Block(block, model.shape) for block in model.blocks))
        self.pooler = _dense(model.dense("pooler.dense"))
        self.classifier = _dense(model.dense("classifier"))

    def forward(self, ids):
        x = self.norm(functional.embedding(ids, self.words) + self.positions[:ids.shape[1]])
        return self.classifier(torch.tanh(self.pooler(self.blocks(x)[:, 0])))


class Gpt2(nn.Module):
    """Token numbers [batch, N] -> logits [batch, N, words]; the head is tied."""

    def __init__(self, model):
        super().__init__()
        self.words = _parameter(model.tensors["wte.weight"])
        self.positions = _parameter(model.tensors["wpe.weight"])
        self.blocks = nn.Sequential(*(Block(block, model.shape) for block in model.blocks))
        self.norm = _norm(model.norm("ln_f"), model.shape.epsilon)

    def forward(self, ids):
        x = functional.embedding(ids, self.words) + self.positions[:ids.shape[1]]
        return functional.linear(self.norm(self.blocks(x)), self.words)


def load_model(folder):
    """The model of a folder with config.json and model.safetensors, ready for inference.

    Raises ValueError for another kind of model, KeyError for a tensor that is missing.
    """
    model = read_model(folder)
    make = {"vit": VisionTransformer, "bert": Bert, "gpt2": Gpt2}[model.shape.family]
    return make(model).eval()
