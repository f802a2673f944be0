"""A Vision Transformer to be trained from scratch on a data file of pictures."""

import math
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open

from thinwire_train.checkpoint import Checkpoint
from thinwire_train.config import read_config
from thinwire_train.data import Pictures
from thinwire_train.errors import InputError
from thinwire_train.models import Transformer

AUGMENTS = ("crop", "flip")


@dataclass(frozen=True)
class VitOptions:
    """Sizes of the model and how its pictures are used."""

    patch: int = 4
    hidden: int = 128
    layers: int = 6
    heads: int = 4
    ffn: int = 0  # 0: four times hidden
    validation: float = 0.1  # share of the pictures that are only scored
    augment: tuple = AUGMENTS
    seed: int = 0  # of the split and the first weights


@dataclass
class PictureSet:
    image: torch.Tensor  # uint8 [n, side, side, 3]
    label: torch.Tensor  # int64 [n]
    classes: list  # names, as many as labels


def read_pictures(path):
    """Raises InputError naming the file and the tensor at fault."""
    where = f"--data={path}"
    try:
        with safe_open(path, framework="pt") as file:
            given = {name: file.get_tensor(name) for name in file.keys()}
            metadata = file.metadata() or {}
    except (OSError, SafetensorError) as error:
        raise InputError(f"{where}: cannot be read ({error})") from None
    for name in ("image", "label"):
        if name not in given:
            raise InputError(f"{where}: tensor {name} is missing (pictures and classes are needed)")
    image, label = given["image"], given["label"].long()
    shape = tuple(image.shape)
    if image.dtype != torch.uint8 or len(shape) != 4 or shape[1] != shape[2] or shape[3] != 3:
        raise InputError(f"{where}: image is {image.dtype} {list(shape)} "
                         "(uint8 [n, side, side, 3] is needed)")
    if label.shape != shape[:1] or len(label) < 2 or int(label.min()) < 0:
        raise InputError(f"{where}: label is {list(label.shape)} from {int(label.min())} on for "
                         f"{shape[0]} pictures (a class from 0 on for each is needed)")
    count = max(2, int(label.max()) + 1)
    names = metadata.get("classes", "").split(",")
    return PictureSet(image, label, names if len(names) >= count else _numbered(count))


class NewVit:
    """Model, training pictures and validation pictures.

    checkpoint  to be written with checkpoint.write_checkpoint
    train, valid  data.Pictures; the mean and deviation that normalise both are the training
                  pictures' own
    """

    def __init__(self, pictures, options):
        self.pictures, self.options = pictures, options
        generator = torch.Generator().manual_seed(options.seed)
        train, valid = _split(len(pictures.image), options.validation, generator)
        self.mean, self.deviation = _statistics(pictures.image[train])
        self.checkpoint = Checkpoint(self._make_model(generator), self._keys())
        self.train, self.valid = self._part(train), self._part(valid)

    def preprocessing(self):
        """preprocessor_config.json as a dictionary."""
        side = self.pictures.image.shape[1]
        return {
            "do_normalize": True,
            "do_rescale": True,
            "do_resize": True,
            "image_mean": self.mean.tolist(),
            "image_std": self.deviation.tolist(),
            "resample": 2,  # bilinear
            "rescale_factor": 1 / 255,
            "size": {"height": side, "width": side},
        }

    def _make_model(self, generator):
        model = Transformer(read_config(self._keys(), True, "the new model"))
        start_small(model, generator)
        return model

    def _part(self, indices):
        tensors = {"image": self.pictures.image[indices], "label": self.pictures.label[indices]}
        normal = self.mean.view(-1, 1, 1), self.deviation.view(-1, 1, 1)
        return Pictures(tensors, self.checkpoint.config, normal, self.options.augment)

    def _keys(self):
        options, side = self.options, self.pictures.image.shape[1]
        if side % options.patch != 0:
            raise InputError(f"--patch={options.patch} does not divide pictures of {side} pixels")
        if options.hidden % options.heads != 0:
            raise InputError(f"--heads={options.heads} does not divide --hidden={options.hidden}")
        names = self.pictures.classes
        return {
            "architectures": ["ViTForImageClassification"],
            "model_type": "vit",
            "hidden_size": options.hidden,
            "num_hidden_layers": options.layers,
            "num_attention_heads": options.heads,
            "intermediate_size": options.ffn or 4 * options.hidden,
            "hidden_act": "gelu",
            "layer_norm_eps": 1e-6,
            "image_size": side,
            "patch_size": options.patch,
            "num_channels": 3,
            "qkv_bias": True,
            "hidden_dropout_prob": 0.0,
            "attention_probs_dropout_prob": 0.0,
            "id2label": {str(number): name for number, name in enumerate(names)},
            "label2id": {name: number for number, name in enumerate(names)},
            "dtype": "float32",
        }


def start_small(model, generator):
    """First weights that keep the variance of their inputs, those before a residual half its root.

    Hugging Face's 0.02 fits a width of some 2,500; a small model would lose epochs with it.
    """
    gains = {"output": 0.5, "down": 0.5, "projection": 0.5, "classifier": 0.1}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            part = name.split(".")[-2]
            if name == "embedding.positions":
                parameter.normal_(0.0, 0.2, generator=generator)
            elif name == "embedding.class_token":
                parameter.normal_(0.0, 0.02, generator=generator)
            elif "norm" in part:
                parameter.fill_(1.0 if name.endswith("weight") else 0.0)
            elif name.endswith("bias"):
                parameter.zero_()
            else:
                deviation = gains.get(part, 1.0) / math.sqrt(parameter[0].numel())
                parameter.normal_(0.0, deviation, generator=generator)


def _split(count, share, generator):
    order = torch.randperm(count, generator=generator)
    valid = round(count * share)
    if count - valid < 1:
        raise InputError(f"--validation={share} leaves none of {count} pictures to learn from")
    return order[valid:], order[:valid]


def _statistics(images):
    """Mean and deviation [3] of value / 255, exact for any number of pictures."""
    channels = images.unbind(dim=-1)
    counts = torch.stack([torch.bincount(c.flatten(), minlength=256) for c in channels])
    shares = counts.double() / counts.sum(dim=1, keepdim=True)
    values = torch.arange(256, dtype=torch.float64) / 255
    mean = shares @ values
    deviation = (shares @ values**2 - mean**2).clamp(min=1e-6).sqrt()
    return mean.float(), deviation.float()


def _numbered(count):
    return [str(number) for number in range(count)]


def fingerprint(path):
    """Tells one data file from another in the settings of a resumed training."""
    return f"{Path(path).name}, {Path(path).stat().st_size} bytes"
