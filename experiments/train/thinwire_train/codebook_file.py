"""Codebook files as thinwire reads and writes them (ARCHITECTURE 6)."""

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from thinwire_train.codebook import Codebook
from thinwire_train.errors import InputError
from thinwire_train.hierarchy import build_hierarchy, default_levels
from thinwire_train.tensor_file import write_tensors
from thinwire_train.trace import coded_exchanges


def codebook_name(method, exchange, group=0, groups=1):
    if method == "astra":
        return f"astra.g{groups}.codebook.{exchange}.{group}"
    return f"{_prefix(method, exchange)}codebook.{exchange}"


def hierarchy_name(method, exchange):
    return f"{_prefix(method, exchange)}hierarchy.{exchange}"


def read_codebooks(path, method, config, groups=1, update="ema"):
    """{exchange: Codebook} of a file, all codewords in the file's order."""
    try:
        tensors = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"--codebook={path}: cannot be read ({error})") from None
    similarity = "squared" if method == "astra" else "cosine"
    books, codewords = {}, None
    for exchange in coded_exchanges(method, config.layers):
        parts = []
        for group in range(groups):
            name = codebook_name(method, exchange, group, groups)
            if name not in tensors:
                raise InputError(f"--codebook={path}: tensor {name} is missing (for {method})")
            codewords = codewords or len(tensors[name])
            wanted = [codewords, config.hidden // groups]
            if list(tensors[name].shape) != wanted:
                raise InputError(
                    f"--codebook={path}: tensor {name} has shape {list(tensors[name].shape)}, but "
                    f"{wanted} is needed for this model and the file's other tensors"
                )
            parts.append(tensors[name].to(torch.float32))
        books[exchange] = Codebook(torch.stack(parts), similarity, update)
    return books


def write_codebooks(path, method, books, metadata):
    """All codewords, and for TRACE the levels that thinwire makes by default."""
    tensors = {}
    for exchange, book in books.items():
        if method != "astra":
            levels = default_levels(book.codewords.shape[1])
            permutation = build_hierarchy(book.codewords[0].detach(), levels)
            tensors[hierarchy_name(method, int(exchange))] = permutation
            tensors["hierarchy.levels"] = torch.tensor(levels, dtype=torch.int32)
        for group in range(book.groups):
            name = codebook_name(method, int(exchange), group, book.groups)
            tensors[name] = book.codewords[group].detach().to(torch.float32).contiguous().clone()
    texts = {name: str(value) for name, value in metadata.items()}
    write_tensors(Path(path), tensors, texts)


def _prefix(method, exchange):
    # Exchange 0 codes embeddings whatever comes later.
    return "nb." if method in ("trace-nb", "trace-1b") and exchange > 0 else ""
