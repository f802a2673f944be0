"""Finetuning of a checkpoint, and of codebooks with it, for a strategy and P devices."""

import copy
from dataclasses import dataclass
from typing import Optional

import torch
from torch import nn

from thinwire_train.codebook_file import read_codebooks
from thinwire_train.errors import InputError
from thinwire_train.losses import distillation_loss, task_loss
from thinwire_train.partition import segments as list_segments
from thinwire_train.prism import Prism
from thinwire_train.trace import CodebookStrategy, coded_exchanges, empty_codebooks

METHODS = ("prism", "trace-b", "trace-nb", "astra")
CODEBOOK_RATE = 10.0  # codewords that follow gradients move so much faster than weights
FIRST_TOKENS_A_CODEWORD = 4  # of the batch that k-means sees


@dataclass(frozen=True)
class FinetuningOptions:
    """What is trained; how long and how fast is training.TrainingOptions."""

    method: str
    devices: int
    segments: Optional[int] = None  # prism
    scaling: bool = True  # prism
    codewords: Optional[int] = None  # the others, where no file gives them
    codebook: Optional[str] = None
    groups: int = 1  # astra
    update: str = "ema"
    commitment: float = 0.1
    local_drop: float = 0.3
    freeze_backbone: bool = False
    distill: float = 0.0
    smoothing: float = 0.1


class Finetuning(nn.Module):
    """Model and strategy, and the loss that finetuning lowers.

    The teacher, which is the original model on a single device, is no part of the module's state.
    """

    def __init__(self, checkpoint, data, options, seed=0):
        super().__init__()
        self.options, self.data, self.config = options, data, checkpoint.config
        self.model = checkpoint.model
        self.strategy = make_strategy(options, checkpoint.config)
        self._teacher = [copy.deepcopy(self.model).eval()] if options.distill > 0 else []
        for parameter in self.model.parameters():
            parameter.requires_grad_(not options.freeze_backbone)
        _require_possible(options, data)
        if self.has_codebooks and options.codebook is None:
            self._fit_codebooks(torch.Generator().manual_seed(seed))

    @property
    def has_codebooks(self):
        return isinstance(self.strategy, CodebookStrategy)

    def loss_of(self, indices, generator):
        """Task + distill * distance to the teacher + commitment * |z - sg(c)|^2 (+ codebook)."""
        batch, target = self.data.batch(indices, generator)
        if self.has_codebooks:
            self.strategy.generator = generator
        output = self.model(batch, self.strategy)
        loss = task_loss(self.config, output, target, self.options.smoothing)
        for teacher in self._teacher:
            with torch.no_grad():
                wanted = teacher(batch)
            loss = loss + self.options.distill * distillation_loss(self.config, output, wanted)
        if self.has_codebooks:
            loss = loss + self.options.commitment * self.strategy.commitment + self.strategy.pull
        return loss

    def after_step(self):
        if self.has_codebooks:
            self.strategy.follow()

    def rate_scales(self):
        """{parameter name: factor of the learning rate} for make_optimizer."""
        return {
            name: CODEBOOK_RATE
            for name, _ in self.named_parameters()
            if name.endswith(".codewords")
        }

    def _fit_codebooks(self, generator):
        """k-means exchange after exchange, each on what the quantised ones before it lead to."""
        strategy = self.strategy
        tokens = self.data.batch(torch.arange(1))[0]
        each = self.config.max_tokens if tokens.ids is None else tokens.ids.numel()
        wanted = -(-FIRST_TOKENS_A_CODEWORD * self.options.codewords // each)
        count = min(len(self.data), max(64, wanted))
        chosen = torch.randperm(len(self.data), generator=generator)[:count]
        strategy.generator, strategy.fits = generator, True
        self.eval()
        with torch.no_grad():
            self.model(self.data.batch(chosen)[0], strategy)
        strategy.fits = False


def make_strategy(options, config):
    """Raises InputError for options that do not fit the method."""
    if options.method not in METHODS:
        raise InputError(f"--method={options.method} (known: {', '.join(METHODS)})")
    if options.devices < 2:
        raise InputError(f"--devices={options.devices} (at least 2: one device sends nothing)")
    if options.method == "prism":
        if options.segments is None:
            raise InputError("--segments is needed for --method=prism")
        if options.codebook is not None or options.codewords is not None:
            raise InputError("--codebook and --codewords have no meaning for --method=prism")
        return Prism(options.devices, options.segments, options.scaling)
    if options.segments is not None:
        raise InputError(f"--segments has no meaning for --method={options.method}")
    if options.groups != 1 and options.method != "astra":
        raise InputError(f"--groups has no meaning for --method={options.method}")
    if options.groups < 1 or config.hidden % options.groups != 0:
        raise InputError(f"--groups={options.groups} does not divide {config.hidden} columns")
    if not coded_exchanges(options.method, config.layers):
        raise InputError(f"--method={options.method}: a model of one block codes no exchange")
    if options.codebook is not None:
        books = read_codebooks(
            options.codebook, options.method, config, options.groups, options.update
        )
        _require_equal_codewords(options, books)
    elif options.codewords is not None:
        if not 2 <= options.codewords <= 65536:
            raise InputError(f"--codewords={options.codewords} (2 to 65536 are possible)")
        books = empty_codebooks(
            options.method, config, options.codewords, options.groups, options.update
        )
    else:
        raise InputError(f"--codebook or --codewords is needed for --method={options.method}")
    return CodebookStrategy(
        options.method, options.devices, books, options.local_drop, buffers="fp16"
    )


def _require_equal_codewords(options, books):
    found = next(iter(books.values())).codewords.shape[1]
    if options.codewords not in (None, found):
        raise InputError(
            f"--codewords={options.codewords}, but --codebook={options.codebook} has {found}"
        )


def _require_possible(options, data):
    """The data's length of sequence can be split so."""
    batch, _ = data.batch(torch.arange(1))
    if batch.ids is not None:
        tokens = batch.ids.shape[1]
        list_segments(tokens, options.devices, options.segments or 1)
