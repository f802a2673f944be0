"""The commands of text.py: sentences, language-model, bytes and cloze."""

import argparse
from pathlib import Path

from thinwire_prepare.cloze import cloze_tensors, read_clozes
from thinwire_prepare.command import add_output, make_parser, output_path, run, whole_number
from thinwire_prepare.data_file import describe, write_data_file
from thinwire_prepare.errors import InputError
from thinwire_prepare.language_model import cut_windows
from thinwire_prepare.raw_bytes import split_bytes
from thinwire_prepare.sentences import sentence_tensors
from thinwire_prepare.text_table import GLUE, Columns, read_rows
from thinwire_prepare.tokenizer import load_tokenizer

DESCRIPTION = """Text as a data file for thinwire's language models and text classifiers.

Tokens are made by the model's own tokenizer, the tokenizer.json of its Hugging Face folder. The
metadata of a file tells task, source and licence: token numbers can be turned back into the text,
so the licence of the text applies to the file."""
EXAMPLES = """examples:
  text.py sentences dev.tsv --glue stsb --tokenizer minilm/ --out stsb.safetensors
  text.py sentences dev.tsv --glue mrpc --pair-in-one --tokenizer bert/ --out mrpc.safetensors
  text.py language-model book.txt --window 256 --tokenizer gpt2/ --out book.safetensors
  text.py bytes book.txt --valid 0.1 --out bytes.safetensors
  text.py cloze cbtest_NE_test.txt --tokens 1024 --tokenizer gpt2/ --out cloze.safetensors
text.py COMMAND --help says more about each."""

SENTENCES = """One sequence of tokens a sentence, with what is known about it.

INPUT is a .txt (a sentence a line), a .tsv or .csv (the first line names the columns), or a .jsonl
(one object a line). --first, --second, --label and --score name columns, keys, or column numbers
from 1 on. --glue sets them for a file of the GLUE benchmark.

A pair becomes two sequences, rows 2i and 2i+1, for sentence encoders (cosine); --pair-in-one makes
it one sequence with token_type_ids, for pair classifiers. Rows have true lengths (tensor length);
--padded gives all of them one length with attention_mask, and padding is computed as well."""

LANGUAGE_MODEL = """Windows of running text for a language model with a tokenizer (GPT-2).

Each window has --window tokens. The model predicts all but the first; bytes and characters of the
predicted text are stored with each window, so that bits per byte and per character can be compared
between tokenizers. --begin-token puts a token before each window, so that all text is predicted."""

BYTES = """The bytes of a file for a byte-level language model, cut in two: train uint8 [first
part], valid uint8 [the rest]. thinwire cuts windows itself."""

CLOZE = """Questions with a gap and candidates for it, in the form of the Children's Book Test.

INPUT has numbered lines of context, then a line with the question (its gap is XXXXX), the answer
and, divided by |, the candidates, all behind tabs; or it is a .jsonl with the keys context,
question, candidates and answer. Each candidate becomes a sequence: context, and the question with
it. The likeliest wins: of the candidate and the rest of the question, or with --only-candidate of
the candidate alone."""


def main(arguments=None):
    parser = make_parser(DESCRIPTION, EXAMPLES, prog="text.py")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_sentences(commands)
    _add_language_model(commands)
    _add_bytes(commands)
    _add_cloze(commands)
    options = parser.parse_args(arguments)
    return run(lambda: options.prepare(options))


def prepare_sentences(options):
    out = output_path(options.out)
    columns, labels, has_header = _columns(options)
    tokenizer = load_tokenizer(options.tokenizer)
    rows = read_rows(options.input, columns, has_header)[: options.limit]
    tensors, texts, cut = sentence_tensors(
        rows, tokenizer, options.tokens, options.pair_in_one, options.padded, labels
    )
    _write(options, out, tensors, {"task": _sentence_task(columns), **texts})
    print(f"{len(rows)} samples, {cut} sequences cut")


def prepare_language_model(options):
    out = output_path(options.out)
    tokenizer = load_tokenizer(options.tokenizer)
    tensors = cut_windows(_read_text(options.input), tokenizer, options.window, options.begin_token)
    _write(options, out, tensors, {"task": "language model: next tokens of each window"})
    predicted = tensors["input_ids"].shape[0] * (options.window - 1)
    print(f"{tensors['bytes'].sum()} bytes, {tensors['characters'].sum()} characters in "
          f"{predicted} predicted tokens")


def prepare_bytes(options):
    out = output_path(options.out)
    path = Path(options.input)
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    content = path.read_bytes()
    if not content:
        raise InputError(f"{path}: the file is empty")
    _write(options, out, split_bytes(content, options.valid), {"task": "language model of bytes"})


def prepare_cloze(options):
    out = output_path(options.out)
    tokenizer = load_tokenizer(options.tokenizer)
    clozes = read_clozes(options.input)[: options.limit]
    tensors = cloze_tensors(clozes, tokenizer, options.tokens, not options.only_candidate)
    _write(options, out, tensors, {"task": "cloze: the likeliest candidate of each question"})
    print(f"{len(clozes)} questions of {len(clozes[0].candidates)} candidates")


def _columns(options):
    """Columns, names of the labels in order, whether tables have a header."""
    given = {name: getattr(options, name) for name in ("first", "second", "label", "score")}
    labels = tuple(filter(None, options.labels.split(",")))
    if options.glue is None:
        given["first"] = given["first"] or "1"
        return Columns(**given), labels, not options.no_header
    clash = next((name for name, value in given.items() if value is not None), None)
    if clash or options.no_header:
        raise InputError(f"--{clash or 'no-header'}: --glue={options.glue} sets the columns itself")
    task = GLUE[options.glue]
    return task.columns, labels or task.labels, task.has_header


def _sentence_task(columns):
    what = "sentence pairs" if columns.second else "sentences"
    answers = [name for name in ("label", "score") if getattr(columns, name)]
    return f"{what} with {' and '.join(answers)}" if answers else what


def _read_text(name):
    path = Path(name)
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error.reason} at byte {error.start})") from None


def _write(options, out, tensors, texts):
    write_data_file(out, tensors, {**texts, "source": options.source, "licence": options.licence})
    print(describe(out, tensors))


def _add_command(commands, name, prepare, description, summary):
    command = commands.add_parser(
        name, help=summary, description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("input", metavar="INPUT")
    command.set_defaults(prepare=prepare)
    return command


def _add_tokenizer(command):
    command.add_argument(
        "--tokenizer", required=True, metavar="PLACE",
        help="tokenizer.json, or a model folder that has one",
    )


def _add_sentences(commands):
    command = _add_command(
        commands, "sentences", prepare_sentences, SENTENCES, "sentences or pairs, with answers"
    )
    _add_tokenizer(command)
    command.add_argument("--glue", choices=sorted(GLUE), help="columns and labels of a GLUE task")
    command.add_argument("--first", metavar="COLUMN", help="the (first) sentence (default: 1)")
    command.add_argument("--second", metavar="COLUMN", help="the second sentence of a pair")
    command.add_argument("--label", metavar="COLUMN", help="class: a number or a name")
    command.add_argument("--score", metavar="COLUMN", help="similarity, or another number")
    command.add_argument(
        "--labels", default="", metavar="NAME,...",
        help="names of the classes in the order of their numbers (default: sorted)",
    )
    command.add_argument("--no-header", action="store_true", help="a table's first line is data")
    command.add_argument("--pair-in-one", action="store_true", help="a pair is one sequence")
    command.add_argument(
        "--tokens", type=whole_number(3), metavar="N",
        help="cut longer sequences; with --padded the length of all (default: the longest)",
    )
    command.add_argument("--padded", action="store_true", help="attention_mask instead of length")
    command.add_argument("--limit", type=whole_number(1), metavar="N", help="the first N samples")
    add_output(command)


def _add_language_model(commands):
    command = _add_command(
        commands, "language-model", prepare_language_model, LANGUAGE_MODEL, "windows of tokens"
    )
    _add_tokenizer(command)
    command.add_argument(
        "--window", type=whole_number(2), required=True, metavar="N", help="tokens a window"
    )
    command.add_argument(
        "--begin-token", metavar="TOKEN", help="put before each window, such as <|endoftext|>"
    )
    add_output(command)


def _add_bytes(commands):
    command = _add_command(commands, "bytes", prepare_bytes, BYTES, "bytes for byte-level models")
    command.add_argument(
        "--valid", type=float, default=0.1, metavar="SHARE", help="share of the end (default: 0.1)"
    )
    add_output(command)


def _add_cloze(commands):
    command = _add_command(commands, "cloze", prepare_cloze, CLOZE, "gaps and their candidates")
    _add_tokenizer(command)
    command.add_argument(
        "--tokens", type=whole_number(2), required=True, metavar="N",
        help="longest sequence; the beginning of a longer context is left out",
    )
    command.add_argument(
        "--only-candidate", action="store_true", help="compare candidates without what follows"
    )
    command.add_argument("--limit", type=whole_number(1), metavar="N", help="the first N questions")
    add_output(command)
