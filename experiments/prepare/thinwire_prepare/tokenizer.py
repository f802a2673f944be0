"""A model's own tokenizer, from the tokenizer.json of its Hugging Face folder."""

from pathlib import Path

from thinwire_prepare.errors import InputError


def load_tokenizer(place):
    """`place` is a tokenizer.json or a folder that has one. What it says about cutting and padding
    is switched off: data files do both themselves."""
    path = Path(place)
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise InputError(f"--tokenizer={place}: {file} is not a file (a tokenizer.json is needed)")
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise InputError(
            "--tokenizer needs the package tokenizers "
            "(pip install -r experiments/prepare/requirements.txt)"
        ) from None
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the package raises plain Exception
        raise InputError(f"--tokenizer={place}: {file} cannot be read ({error})") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
