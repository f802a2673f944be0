"""The loop: its end, what a resumed training becomes, and complaints."""

import pytest
import torch
from thinwire_train.errors import InputError
from thinwire_train.training import Training, TrainingOptions, rate_factor

SAMPLES = 10


class Clock:
    """Every look at it takes a second."""

    def __init__(self):
        self.now_s = 0.0

    def __call__(self):
        self.now_s += 1.0
        return self.now_s


def make(tmp_path, clock=None, said=None, **options):
    """Fits a line to noisy points; the noise comes from the training's generator."""
    torch.manual_seed(0)
    module = torch.nn.Linear(2, 1)
    inputs = torch.arange(2.0 * SAMPLES).view(SAMPLES, 2) / SAMPLES

    def loss_of(indices, generator):
        noise = torch.randn(len(indices), generator=generator)
        return (module(inputs[indices])[:, 0] - inputs[indices].sum(dim=1) - noise).square().mean()

    return Training(
        module, loss_of, SAMPLES, TrainingOptions(batch=4, **options), tmp_path / "state.pt",
        clock=clock or Clock(), say=(said if said is not None else []).append,
    )


def test_a_resumed_training_makes_the_weights_of_an_uninterrupted_one(tmp_path):
    whole = make(tmp_path, steps=20)
    assert whole.run().is_complete

    first = make(tmp_path, steps=20, minutes=0.5)
    summary = first.run()
    assert not summary.is_complete and 0 < summary.steps < 20
    second = make(tmp_path, steps=20)
    assert second.resume()
    assert second.run().steps == 20

    for ours, theirs in zip(second.module.parameters(), whole.module.parameters()):
        assert torch.equal(ours, theirs)
    assert not (tmp_path / "state.pt").exists()  # complete


def test_a_training_of_minutes_ends_before_they_are_over(tmp_path):
    clock = Clock()

    summary = make(tmp_path, clock, minutes=2.0).run()

    assert summary.is_complete
    assert 100 < clock.now_s <= 120


def test_time_of_earlier_sessions_counts_where_minutes_are_the_end(tmp_path):
    first = make(tmp_path, minutes=1.0)
    first.elapsed_s = 40.0
    first.save()
    clock = Clock()

    second = make(tmp_path, clock, minutes=1.0)
    assert second.resume()
    second.run()

    assert clock.now_s < 25


def test_progress_tells_steps_epochs_and_time_left(tmp_path):
    said = []

    make(tmp_path, said=said, steps=40).run()

    assert said and all("of 40, epoch" in line and "min left" in line for line in said)


def test_other_options_do_not_resume(tmp_path):
    make(tmp_path, steps=4, rate=1e-3).save()

    with pytest.raises(InputError, match="made with rate=0.001, not 0.01"):
        make(tmp_path, steps=4, rate=1e-2).resume()


def test_an_end_is_needed(tmp_path):
    with pytest.raises(InputError, match="--steps or --minutes"):
        make(tmp_path)


def test_a_loss_that_is_no_number_ends_the_training(tmp_path):
    training = make(tmp_path, steps=3)
    training.loss_of = lambda indices, generator: training.module.weight.sum() * torch.nan

    with pytest.raises(InputError, match="loss became nan at step 0"):
        training.run()


def test_every_epoch_draws_every_sample_once(tmp_path):
    training = make(tmp_path, steps=1)

    drawn = torch.cat([training._draw() for _ in range(5)])

    assert sorted(drawn.tolist()) == sorted(2 * list(range(SAMPLES)))


def test_the_rate_warms_up_and_falls_to_nothing():
    assert rate_factor(0.0, 0.1) < 0.05
    assert rate_factor(0.1, 0.1) == pytest.approx(1.0)
    assert rate_factor(0.55, 0.1) == pytest.approx(0.5)
    assert rate_factor(1.0, 0.1) == pytest.approx(0.0)
