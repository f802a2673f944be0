"""Token ids of any lengths -> input_ids [rows, length] with length or attention_mask."""

import numpy as np


def to_tensors(encodings, columns=None, is_padded=False, has_types=False, pad=0):
    """encodings   what a tokenizer made of each row
    columns     width of input_ids; None: the longest row
    is_padded   attention_mask [rows, columns] (padding is computed) instead of length [rows]
    has_types   adds token_type_ids
    """
    longest = max(len(encoding.ids) for encoding in encodings)
    shape = (len(encodings), columns or longest)
    tensors = {"input_ids": np.full(shape, pad, np.int32)}
    length = np.asarray([len(encoding.ids) for encoding in encodings], np.int32)
    if has_types:
        tensors["token_type_ids"] = np.zeros(shape, np.int32)
    for row, encoding in enumerate(encodings):
        tensors["input_ids"][row, : length[row]] = encoding.ids
        if has_types:
            tensors["token_type_ids"][row, : length[row]] = encoding.type_ids
    if is_padded:
        tensors["attention_mask"] = (np.arange(shape[1]) < length[:, None]).astype(np.int32)
    else:
        tensors["length"] = length
    return tensors
