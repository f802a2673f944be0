"""Which device holds which tokens: the policy `paper` (PRISM, Algorithm 1)."""

import torch

from thinwire_train.errors import InputError


def partition(tokens, devices):
    """[(begin, size)] of each device: floor(N / P) rows, the last one also takes the remainder."""
    if not 1 <= devices <= tokens:
        raise InputError(
            f"--devices={devices} cannot share {tokens} tokens (each device needs at least one)"
        )
    size = tokens // devices
    slices = [(device * size, size) for device in range(devices)]
    slices[-1] = (slices[-1][0], tokens - slices[-1][0])
    return slices


def owners(tokens, devices):
    """[N] int64: the device of each token."""
    sizes = torch.tensor([size for _, size in partition(tokens, devices)])
    return torch.repeat_interleave(torch.arange(devices), sizes)


def segments(tokens, devices, count):
    """[(begin, size)] of the L = `count` segments of each device, device after device.

    s = floor(n_p / L) rows each, a device's last one also takes its remainder (METHODS 3.1).
    """
    result = []
    for begin, rows in partition(tokens, devices):
        if not 1 <= count <= rows:
            raise InputError(
                f"--segments={count} of a partition of {rows} tokens (1 to {rows} are possible)"
            )
        size = rows // count
        result += [(begin + i * size, size) for i in range(count - 1)]
        result.append((begin + (count - 1) * size, rows - (count - 1) * size))
    return result
