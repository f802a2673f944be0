#!/usr/bin/env bash
# Where each strategy stops scaling: predicted latency on 1 to 1,000 devices, under results/scale/.
# Installs what is missing, builds, predicts, writes tables and figures.
#
# Usage: experiments/scale/run.sh        (no options)
# Exit status: 0 all checks pass, 1 one fails, 2 bad usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/setup.sh
[ $# -eq 0 ] || { sed -n '5,6p' experiments/scale/run.sh >&2; exit 2; }

install_packages
make_python_environment
build_release

readonly results=results/scale
mkdir -p "$results"
rm -f "$results/scale.jsonl"
say "Predicting every strategy on 1 to 1,000 devices"
started=$SECONDS
"$thinwire" predict experiments/scale/scale.json --json "$results/scale.jsonl" ||
  die "thinwire predict experiments/scale/scale.json failed"
printf '%d s\n' "$((SECONDS - started))"
say "Tables and figures in $results/"
PYTHONPATH=analysis "$python" -m thinwire_analysis scale --results "$results" --out "$results"
