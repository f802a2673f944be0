"""thinwire's safetensors data files (ARCHITECTURE 6) as batches for training and scoring.

`open_data` looks at a file and a model and returns one of the sets below. A set has a length and
`batch(indices, generator)`: inputs and the right answers. With a generator the batch is one for
training, changed at random (pictures are shifted and mirrored, windows of bytes start anywhere);
without one it is always the same.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from thinwire_train.errors import InputError
from thinwire_train.models import Batch

NO_TARGET = -100  # torch's cross-entropy leaves such a token out
CROP_SHARE = 8  # pictures move by up to 1/8 of their side


@dataclass
class Target:
    """The right answers: labels [n], scores [n], or for language models the input itself, with
    NO_TARGET for padding."""

    label: Optional[torch.Tensor] = None
    score: Optional[torch.Tensor] = None
    ids: Optional[torch.Tensor] = None


class Pictures:
    def __init__(self, tensors, config, preprocessing, augments=("flip", "crop")):
        self.images, self.labels = tensors["image"], tensors["label"].long()
        self.mean, self.deviation = preprocessing
        self.augments = augments

    def __len__(self):
        return len(self.images)

    def batch(self, indices, generator=None):
        pixels = self.images[indices].permute(0, 3, 1, 2)
        if generator is not None and "crop" in self.augments:
            pixels = _shift(pixels, max(1, pixels.shape[-1] // CROP_SHARE), generator)
        if generator is not None and "flip" in self.augments:
            mirrored = torch.rand(len(pixels), generator=generator) < 0.5
            pixels = torch.where(mirrored[:, None, None, None], pixels.flip(-1), pixels)
        pixels = (pixels.float() / 255 - self.mean) / self.deviation
        return Batch(pixels=pixels), Target(label=self.labels[indices])


class Windows:
    """Windows of a text of bytes, one byte a token."""

    def __init__(self, text, window):
        self.text, self.window = text.long(), window

    def __len__(self):
        return len(self.text) // self.window

    def batch(self, indices, generator=None):
        starts = indices * self.window
        if generator is not None:
            moved = torch.randint(0, self.window, starts.shape, generator=generator)
            starts = (starts + moved).clamp(max=len(self.text) - self.window)
        ids = self.text[starts[:, None] + torch.arange(self.window)]
        return Batch(ids=ids), Target(ids=ids)


class Sequences:
    """Token rows with padding; `each` rows are one sample (2 for sentence pairs)."""

    def __init__(self, ids, real, types, target, each):
        self.ids, self.real, self.types = ids, real, types
        self.target, self.each = target, each

    def __len__(self):
        return len(self.ids) // self.each

    def batch(self, indices, generator=None):
        rows = (indices[:, None] * self.each + torch.arange(self.each)).flatten()
        batch = Batch(
            ids=self.ids[rows],
            types=None if self.types is None else self.types[rows],
            real=self.real[rows],
        )
        part = {
            name: None if values is None else values[indices]
            for name, values in (("label", self.target.label), ("score", self.target.score))
        }
        return batch, Target(**part, ids=batch.ids.masked_fill(~batch.real, NO_TARGET))


def open_data(path, config, model_folder=None, part="train", window=0, option="data"):
    """The set in `path` that the model of `config` can read.

    model_folder: where preprocessor_config.json may be   part: of a file of bytes, train or valid
    window: tokens of a window of bytes (0: the model's positions)   option: named in complaints
    Raises InputError naming option, file and tensor.
    """
    tensors = _load(path, option)
    where = f"--{option}={path}"
    if config.family == "vit":
        return _pictures(tensors, config, read_preprocessing(model_folder, config), where)
    if "input_ids" in tensors:
        return _sequences(tensors, config, where)
    if part in tensors and config.family == "gpt2":
        window = window or config.max_tokens
        if not 2 <= window <= config.max_tokens or len(tensors[part]) < window:
            raise InputError(
                f"{where}: windows of {window} bytes, but the model has {config.max_tokens} "
                f"positions and {part} {len(tensors[part])} bytes"
            )
        _require_ids(tensors[part], config, where, part)
        return Windows(tensors[part], window)
    names = ", ".join(sorted(tensors)) or "nothing"
    raise InputError(f"{where}: holds {names}, nothing that a {config.family} model learns from")


def read_preprocessing(folder, config):
    """Mean and deviation [channels, 1, 1] of value / 255; 0.5 where the folder says nothing."""
    path = Path(folder or "") / "preprocessor_config.json"
    keys = json.loads(path.read_text(encoding="utf-8")) if folder and path.is_file() else {}
    half = [0.5] * config.channels
    mean = keys.get("image_mean") or half
    deviation = keys.get("image_std") or half
    if keys.get("do_normalize") is False:
        mean, deviation = [0.0] * config.channels, [1.0] * config.channels
    return torch.tensor(mean).view(-1, 1, 1), torch.tensor(deviation).view(-1, 1, 1)


def in_batches(count, size):
    """Index tensors that cover 0 .. count - 1 in order, the last one shorter."""
    return torch.arange(count).split(size)


def _load(path, option):
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"--{option}={path}: cannot be read ({error})") from None


def _pictures(tensors, config, preprocessing, where):
    for name in ("image", "label"):
        if name not in tensors:
            raise InputError(f"{where}: tensor {name} is missing (pictures and classes are needed)")
    image, label = tensors["image"], tensors["label"]
    wanted = (config.image_size, config.image_size, config.channels)
    if image.dim() != 4 or tuple(image.shape[1:]) != wanted or image.dtype != torch.uint8:
        raise InputError(
            f"{where}: image is {image.dtype} {list(image.shape)}, but the model takes uint8 "
            f"pictures of {list(wanted)}"
        )
    if len(label) != len(image) or label.min() < 0 or label.max() >= config.labels:
        raise InputError(
            f"{where}: label has {len(label)} classes from {label.min()} to {label.max()} for "
            f"{len(image)} pictures and a model of {config.labels} classes"
        )
    return Pictures(tensors, config, preprocessing)


def _sequences(tensors, config, where):
    ids = tensors["input_ids"].long()
    _require_ids(ids, config, where, "input_ids")
    if ids.shape[1] > config.max_tokens:
        raise InputError(
            f"{where}: {ids.shape[1]} tokens a row, but the model has {config.max_tokens} positions"
        )
    if "attention_mask" in tensors:
        real = tensors["attention_mask"].bool()
    elif "length" in tensors:
        # Rows of many lengths make one batch only with padding.
        real = torch.arange(ids.shape[1]) < tensors["length"].long()[:, None]
    else:
        raise InputError(f"{where}: input_ids needs attention_mask or length")
    types = tensors["token_type_ids"].long() if "token_type_ids" in tensors else None
    label = tensors["label"].long() if "label" in tensors else None
    score = tensors["score"].float() if "score" in tensors else None
    target = Target(label=label, score=score)
    return Sequences(ids, real, types, target, _rows_a_sample(config, target, len(ids), where))


def _rows_a_sample(config, target, rows, where):
    """1, or 2 for pairs; InputError when the answers are not those that the head needs."""
    if config.head == "language_model":
        return 1
    is_class = config.head == "pooler" and config.labels > 1
    answers = target.label if is_class or target.score is None else target.score
    each = 2 if config.head == "mean_pooling" else 1
    if answers is None or len(answers) * each != rows:
        what = "a label" if is_class else "a label or score"
        raise InputError(
            f"{where}: {what} for every {'pair' if each == 2 else 'row'} of the {rows} rows is "
            f"needed, {0 if answers is None else len(answers)} are there"
        )
    if is_class and not 0 <= int(answers.min()) <= int(answers.max()) < config.labels:
        raise InputError(
            f"{where}: label goes from {int(answers.min())} to {int(answers.max())}, but the model "
            f"has {config.labels} classes"
        )
    return each


def _require_ids(ids, config, where, name):
    if int(ids.max()) >= config.vocabulary or int(ids.min()) < 0:
        raise InputError(
            f"{where}: {name} goes up to {int(ids.max())}, but the model knows "
            f"{config.vocabulary} tokens"
        )


def _shift(pictures, reach, generator):
    """Each picture is moved by up to `reach` pixels; what enters is black."""
    padded = torch.nn.functional.pad(pictures, (reach,) * 4)
    side = pictures.shape[-1]
    moves = torch.randint(0, 2 * reach + 1, (len(pictures), 2), generator=generator)
    rows = moves[:, :1] + torch.arange(side)
    columns = moves[:, 1:] + torch.arange(side)
    number = torch.arange(len(pictures))[:, None, None]
    # [n, side, side, channels] by advanced indices around the channels
    return padded[number, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
