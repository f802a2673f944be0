"""How the tests start the scripts of experiments/prepare and read the files that they write."""

import json
import subprocess
import sys

import pytest
from places import BINARY, REPOSITORY

PREPARE = REPOSITORY / "experiments" / "prepare"
sys.path.insert(0, str(PREPARE))
TIMEOUT_S = 300


class Script:
    """Runs pictures.py, text.py or newcomer.py in an empty folder."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, name, *arguments):
        words = [sys.executable, PREPARE / name, *arguments]
        return subprocess.run(
            [str(word) for word in words], cwd=self.folder, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
        )

    def tensors(self, *arguments):
        """Runs a script that must succeed and writes data.safetensors; name -> array."""
        from safetensors.numpy import load_file

        done = self(*arguments, "--out", "data.safetensors")
        assert done.returncode == 0, done.stderr
        return load_file(self.folder / "data.safetensors")

    def metadata(self):
        """Of the last data.safetensors."""
        content = (self.folder / "data.safetensors").read_bytes()
        size = int.from_bytes(content[:8], "little")
        return json.loads(content[8 : 8 + size])["__metadata__"]

    def refusal(self, *arguments):
        """Runs a script that must refuse its input; what it says, in one line."""
        done = self(*arguments, "--out", "data.safetensors")
        assert done.returncode == 2, done.stdout + done.stderr
        assert done.stderr.startswith("error: ")
        assert done.stderr.count("\n") == 1
        assert not list(self.folder.glob("*data.safetensors*"))
        return done.stderr

    def run_thinwire(self, *arguments):
        """The record of a run of the program over data.safetensors."""
        words = [BINARY, "run", "--clock", "modelled", "--device-gflops", 1, "--iterations", 1,
                 "--json", "-", *arguments]
        done = subprocess.run(
            [str(word) for word in words], cwd=self.folder, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def script(tmp_path):
    return Script(tmp_path)


@pytest.fixture
def words_tokenizer(tmp_path):
    """A BERT-like tokenizer.json of whole words that fits the vocabulary of bert-tiny."""
    tokenizers = pytest.importorskip("tokenizers", reason="the package tokenizers is missing")
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "cat", "dog", "runs", "sleeps", "far"]
    model = tokenizers.models.WordLevel({name: i for i, name in enumerate(names)}, "[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.enable_padding(length=128)  # as published ones do; to be switched off
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return tmp_path / "tokenizer.json"


@pytest.fixture
def bytes_tokenizer(tmp_path):
    """A GPT-2-like tokenizer.json without merges: a token a byte; ids fit gpt2-tiny for ASCII."""
    tokenizers = pytest.importorskip("tokenizers", reason="the package tokenizers is missing")
    # Letters first, so that plain text stays inside of a vocabulary of 96.
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet(), key=lambda c: (c != "Ġ", c))
    names = ["<|endoftext|>", *alphabet]
    model = tokenizers.models.BPE({name: i for i, name in enumerate(names)}, [])
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return tmp_path / "tokenizer.json"
