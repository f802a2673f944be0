#!/usr/bin/env bash
# Makes build/train-venv with what experiments/train needs, which is optional. PyTorch as PyPI has it
# takes 6 GB; with PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu pip finds a small build.
# Usage: experiments/train/setup.sh        (no options; prints the interpreter's path)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[ $# -eq 0 ] || { sed -n '2,4p' experiments/train/setup.sh >&2; exit 2; }
requirements="experiments/train/requirements.txt"
venv="build/train-venv"

python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
  printf 'error: PyTorch needs Python 3.10 or later\n' >&2
  exit 1
}
# Made anew when requirements, interpreter or this folder's place changed.
wanted="$(pwd) $(python3 --version) $(cat "$requirements")"
if [ ! -x "$venv/bin/python" ] || [ "$(cat "$venv/made-for" 2>/dev/null)" != "$wanted" ]; then
  printf 'making %s from %s\n' "$venv" "$requirements" >&2
  rm -rf "$venv"
  python3 -m venv "$venv" || {
    printf 'error: python3 -m venv failed (Debian: apt-get install python3-venv)\n' >&2
    exit 1
  }
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$requirements"
  printf '%s\n' "$wanted" >"$venv/made-for"
fi
printf '%s\n' "$venv/bin/python"
