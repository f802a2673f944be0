"""What training lowers, by kind of head: the task's loss, and distance to the original model."""

import torch
from torch.nn import functional

LARGEST_SCORE = 5.0  # of the similarity of a sentence pair; its cosine shall be 1


def task_loss(config, output, target, smoothing=0.0):
    """Mean over the batch: cross-entropy in nats, or a squared error.

    output  what the model gave (models.Head)   smoothing  of labels, in classification
    """
    if config.head == "language_model":
        return functional.cross_entropy(output[:, :-1].flatten(0, 1), target.ids[:, 1:].flatten())
    if config.head == "mean_pooling":
        return functional.mse_loss(pair_cosines(output), wanted_cosines(target))
    if config.labels == 1:
        return functional.mse_loss(output[:, 0], wanted_number(target))
    return functional.cross_entropy(output, target.label, label_smoothing=smoothing)


def distillation_loss(config, output, teacher):
    """KL divergence from the teacher's distribution in nats, or 1 - cosine of embeddings."""
    if config.head == "mean_pooling":
        return (1 - functional.cosine_similarity(output, teacher, dim=-1)).mean()
    if config.head != "language_model" and config.labels == 1:
        return functional.mse_loss(output, teacher)
    ours = functional.log_softmax(output.flatten(0, -2), dim=-1)
    theirs = functional.log_softmax(teacher.flatten(0, -2), dim=-1)
    return functional.kl_div(ours, theirs, reduction="batchmean", log_target=True)


def pair_cosines(embeddings):
    """Rows 2i and 2i + 1 are a pair."""
    return functional.cosine_similarity(embeddings[0::2], embeddings[1::2], dim=-1)


def wanted_cosines(target):
    return target.label.float() if target.score is None else target.score / LARGEST_SCORE


def wanted_number(target):
    return target.label.float() if target.score is None else target.score


def is_right(output, label):
    return (output.argmax(dim=-1) == label).to(torch.float32)
