"""Any file -> its bytes as training and validation text of a byte-level language model."""

import numpy as np

from thinwire_prepare.errors import InputError


def split_bytes(content, valid_share):
    """train uint8 [first part], valid uint8 [the rest]; a share of 0 or 1 gives only one."""
    if not 0 <= valid_share <= 1:
        raise InputError(f"--valid={valid_share} (a share of 0 to 1 is needed)")
    values = np.frombuffer(content, np.uint8)
    train = round(len(values) * (1 - valid_share))
    parts = {"train": values[:train], "valid": values[train:]}
    return {name: part.copy() for name, part in parts.items() if len(part)}
