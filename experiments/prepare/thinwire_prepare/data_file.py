"""Data files: tensors and metadata strings in one safetensors file, written whole or not at all."""

import os
import tempfile
from pathlib import Path

from safetensors.numpy import save_file


def write_data_file(path, tensors, metadata):
    """Replaces `path` by a file of `tensors` (name -> numpy array) in one step.

    metadata  name -> text; empty texts are left out
    """
    path = Path(path)
    texts = {name: str(text) for name, text in metadata.items() if str(text)}
    handle, part = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    try:
        save_file(tensors, part, metadata=texts)
        os.chmod(part, 0o666 & ~_umask())  # mkstemp's files are private
        os.replace(part, path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise


def describe(path, tensors):
    """One line about a written file."""
    shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in tensors.items())
    return f"{path}: {shapes}; {Path(path).stat().st_size} bytes"


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
