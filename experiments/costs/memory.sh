#!/usr/bin/env bash
# Private and shared memory of ranks while they run passes, beside what they may take: a rank 12 MB
# and the activations that `thinwire predict` says, the node 1.05 times what its strategy packs
# (weights, codebooks, K/V buffers). Read from the kernel; times do not matter here.
#
# Usage: experiments/costs/memory.sh [--model M] [--devices P] [--threads T] [--strategies S,...]
#                                    [--iterations N] [--json FILE]
# Without options: ten ranks of vit-base-16 with a thread each, under every distributed strategy.
# Settings: THINWIRE, the program; else it is built.
# Exit status: 0 every figure is within its limit, 1 one is not, or a run failed, 2 bad usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/build-program.sh
build_program THINWIRE thinwire src/cli/thinwire
exec python3 experiments/costs/memory.py --thinwire "$THINWIRE" "$@"
