"""Safetensors files, written in one step."""

from safetensors.torch import save


def write_tensors(path, tensors, metadata):
    """A reader never sees half a file. (save_file would also leave it readable by nobody else.)"""
    part = path.with_name(path.name + ".part")
    part.write_bytes(save(tensors, metadata))
    part.replace(path)
