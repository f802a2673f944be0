#!/usr/bin/env bash
# What a sweep costs beside the iterations that it is asked for: the fixed overhead of a point among
# points that share a model and a codebook, and the wall time of a curve of latency over bandwidth
# from one execution, beside one point of it and beside the same points executed one by one.
#
# Usage: experiments/costs/sweep.sh [--model M] [--devices P] [--threads T] [--points N]
#                                   [--rates N] [--rounds N] [--iterations N] [--json FILE]
# Without options: vit-base-16 on two devices of two threads, 40 points, and 15 rounds of a curve of
# ten rates (about five minutes). Let the machine do nothing else.
# Settings: THINWIRE, the program; else it is built.
# Exit status: 0 every figure is within its limit, 1 one is not, or a run failed, 2 bad usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/build-program.sh
build_program THINWIRE thinwire src/cli/thinwire
exec python3 experiments/costs/sweep.py --thinwire "$THINWIRE" "$@"
