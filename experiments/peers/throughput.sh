#!/usr/bin/env bash
# Runs a picture data set through the single device (`thinwire eval`) and through PyTorch with the
# same weights and as many threads, in turn, and says how the times compare. Both have the machine
# for themselves, one after the other: let it do nothing else, or put `chrt --rr 1` before (root).
#
# Usage: experiments/peers/throughput.sh [--model DIR] [--data FILE] [--samples N] [--rounds N]
#                                        [--threads N] [--batches 1,8,...] [--json FILE] [--quick]
# Without --model and --data: the ViT and CIFAR-10's test pictures in ../shared.
# Settings: PYTHON, an interpreter that has the modules of experiments/peers/requirements.txt; else
# the script makes an environment in build/peers-venv. THINWIRE, the program; else it is built.
# Exit status: 0 the single device is within 1.2 times of PyTorch, 1 it is not, or answers
# differ, or a run failed, 2 bad usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

source experiments/peers/setup.sh
source scripts/build-program.sh

if [ -z "${PYTHON:-}" ] && ! find_python numpy safetensors torch; then
  echo "== PyTorch is missing: installing it into $peers_venv (some GB)" >&2
  make_environment
  install -r experiments/peers/requirements.txt
fi
build_program THINWIRE thinwire src/cli/thinwire
exec "$PYTHON" experiments/peers/throughput.py --thinwire "$THINWIRE" "$@"
