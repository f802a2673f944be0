"""Pictures as a ViT's folder wants them."""

import json
from pathlib import Path

import torch


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
