"""A training loop that ends in time, can be interrupted, and goes on where it stopped.

The end is a number of steps, a time budget, or both. The learning rate warms up and then falls as a
cosine: over the steps where their number is given, else over the time. With steps a resumed
training makes the very weights of an uninterrupted one.
"""

import math
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Optional

import torch

from thinwire_train.errors import InputError

PROGRESS_S = 10.0  # between lines of progress


@dataclass(frozen=True)
class TrainingOptions:
    batch: int = 64
    rate: float = 1e-4  # largest learning rate
    weight_decay: float = 0.05  # of matrices; vectors have none
    warmup: float = 0.05  # share of the training
    gradient_norm: float = 1.0  # longer gradients are cut
    steps: Optional[int] = None
    minutes: Optional[float] = None  # of this and all resumed sessions, or, with steps, of this one
    seed: int = 0
    save_s: float = 60.0  # between saved states


@dataclass
class Summary:
    steps: int
    seconds: float
    loss: float  # mean of the last steps
    is_complete: bool  # False: the time was over before the steps were


class Training:
    """Trains `module` on what `loss_of(indices, generator)` returns for a batch of samples.

    module      every parameter with requires_grad is trained; its whole state is saved
    loss_of     indices [batch] of samples, the training's generator -> loss to go down
    samples     how many there are; each epoch draws them in a new order
    settings    what a resumed training must agree with, as text by name
    after_step  called without gradients after each update
    """

    def __init__(self, module, loss_of, samples, options, state_file, settings=None,
                 after_step=None, clock=time.monotonic, say=None):
        if options.steps is None and options.minutes is None:
            raise InputError("--steps or --minutes is needed: how long shall training take?")
        self.module, self.loss_of, self.samples = module, loss_of, samples
        self.options, self.state_file = options, Path(state_file)
        self.settings = {**(settings or {}), "samples": str(samples), **_fixed(options)}
        self.after_step = after_step or (lambda: None)
        self.clock = clock
        self.say = say or (lambda text: print(text, file=sys.stderr, flush=True))
        self.generator = torch.Generator().manual_seed(options.seed)
        self.optimizer = make_optimizer(module, options)
        self.step, self.elapsed_s = 0, 0.0
        self.order, self.position = torch.empty(0, dtype=torch.int64), 0
        self.losses = []

    def resume(self):
        """True when there was a saved state. InputError when it belongs to other settings."""
        if not self.state_file.is_file():
            return False
        state = torch.load(self.state_file, weights_only=True)
        for name, value in self.settings.items():
            if state["settings"].get(name) != value:
                raise InputError(
                    f"--resume: {self.state_file} was made with {name}="
                    f"{state['settings'].get(name)}, not {value} (the same options are needed)"
                )
        self.module.load_state_dict(state["module"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["generator"])
        self.step, self.position, self.order = state["step"], state["position"], state["order"]
        self.elapsed_s, self.losses = state["elapsed_s"], state["losses"]
        return True

    def run(self):
        """Until the end; the state file goes when the training is complete."""
        start, before = self.clock(), self.elapsed_s
        saved = said = start
        first_step = self.step
        while not self._is_over(start, first_step):
            self._one_step()
            now = self.clock()
            self.elapsed_s = before + now - start
            if now - said >= PROGRESS_S:
                self.say(self._progress(start, first_step))
                said = now
            if now - saved >= self.options.save_s:
                self.save()
                saved = now
        is_complete = self.options.steps is None or self.step >= self.options.steps
        if is_complete:
            self.state_file.unlink(missing_ok=True)
        else:
            self.save()
        return Summary(self.step, self.elapsed_s, self._mean_loss(), is_complete)

    def save(self):
        state = {
            "module": self.module.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generator": self.generator.get_state(),
            "step": self.step,
            "position": self.position,
            "order": self.order,
            "elapsed_s": self.elapsed_s,
            "losses": self.losses,
            "settings": self.settings,
        }
        part = self.state_file.with_name(self.state_file.name + ".part")
        torch.save(state, part)
        part.replace(self.state_file)

    def _one_step(self):
        rate = self.options.rate * rate_factor(self._share(), self.options.warmup)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["scale"]
        self.module.train()
        loss = self.loss_of(self._draw(), self.generator)
        if not torch.isfinite(loss):
            raise InputError(
                f"the loss became {loss.item()} at step {self.step} (a lower --rate may help)"
            )
        self.optimizer.zero_grad(set_to_none=True)
        if loss.requires_grad:  # nothing has a gradient where averages alone are trained
            loss.backward()
            torch.nn.utils.clip_grad_norm_(trained(self.module), self.options.gradient_norm)
            self.optimizer.step()
        with torch.no_grad():
            self.after_step()
        self.step += 1
        self.losses = [*self.losses[-99:], float(loss.detach())]

    def _draw(self):
        """The next batch; samples that do not fill one begin the next epoch's order."""
        batch = min(self.options.batch, self.samples)
        if self.position + batch > len(self.order):
            rest = self.order[self.position :]
            self.order = torch.cat([rest, torch.randperm(self.samples, generator=self.generator)])
            self.position = 0
        self.position += batch
        return self.order[self.position - batch : self.position]

    def _share(self):
        """How much of the training is done, 0 to 1."""
        if self.options.steps is not None:
            return self.step / max(1, self.options.steps)
        return min(1.0, self.elapsed_s / (60 * self.options.minutes))

    def _is_over(self, start, first_step):
        if self.options.steps is not None and self.step >= self.options.steps:
            return True
        if self.options.minutes is None:
            return False
        here_s = self.clock() - start
        used_s = self.elapsed_s if self.options.steps is None else here_s
        # A step that would end too late is not begun.
        step_s = here_s / max(1, self.step - first_step)
        return used_s + step_s > 60 * self.options.minutes

    def _progress(self, start, first_step):
        here_s, done = self.clock() - start, self.step - first_step
        left = []
        if self.options.steps is not None:
            left.append((self.options.steps - self.step) * here_s / max(1, done))
        if self.options.minutes is not None:
            used_s = self.elapsed_s if self.options.steps is None else here_s
            left.append(60 * self.options.minutes - used_s)
        of = f" of {self.options.steps}" if self.options.steps is not None else ""
        epoch = self.step * self.options.batch / self.samples
        return (
            f"step {self.step}{of}, epoch {epoch:.1f}, loss {self._mean_loss():.4f}, "
            f"{max(0.0, min(left)) / 60:.1f} min left"
        )

    def _mean_loss(self):
        recent = self.losses[-50:]
        return sum(recent) / len(recent) if recent else math.nan


def trained(module):
    return [parameter for parameter in module.parameters() if parameter.requires_grad]


def make_optimizer(module, options):
    """AdamW; a module's rate_scales() may give parameters, by name, a faster rate and no decay."""
    scales = module.rate_scales() if hasattr(module, "rate_scales") else {}
    groups = {}
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            decays = parameter.dim() > 1 and name not in scales
            groups.setdefault((scales.get(name, 1.0), decays), []).append(parameter)
    if not groups:  # moving averages alone are trained; the loop stays the same
        groups[1.0, False] = [torch.nn.Parameter(torch.zeros(1))]
    return torch.optim.AdamW(
        [
            {"params": members, "scale": scale, "weight_decay": decays * options.weight_decay}
            for (scale, decays), members in groups.items()
        ],
        lr=options.rate,
        betas=(0.9, 0.98),
    )


def rate_factor(share, warmup):
    """Linear up to 1 while share < warmup, then a cosine down to 0."""
    if share < warmup:
        return max(share, 0.02 * warmup) / warmup
    return 0.5 * (1 + math.cos(math.pi * (share - warmup) / max(1e-9, 1 - warmup)))


def _fixed(options):
    """The options that decide what the weights become."""
    fixed = asdict(options)
    for name in ("minutes", "save_s"):
        fixed.pop(name)
    return {name: str(value) for name, value in fixed.items()}
