#!/usr/bin/env bash
# A device's rate per operation with its share of the tokens beside the single device's, for P = 2, 3
# and 6, on one and two threads: the speed-ups that formulas promise assume that they are equal.
# Usage: experiments/costs/scaling.sh [MODEL...]   (vit-base-16 bert-base)
# Settings: ROUNDS (15), THREADS ("1 2").
# Let the machine do nothing else, or put `chrt --rr 1` before (root). Prints Markdown tables:
# medians and quarters of rounds in turn.
# Exit status: 0 every rate is within 15 % of the single device's, 1 one is not, 2 bad usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[ $# -gt 0 ] || set -- vit-base-16 bert-base

[ -f build/release/build.ninja ] || cmake --preset release >&2
cmake --build --preset release --target thinwire_scaling >&2

export GOMP_SPINCOUNT=${GOMP_SPINCOUNT:-4000} # as thinwire sets it for itself
failed=0
for model in "$@"; do
  for threads in ${THREADS:-1 2}; do
    status=0
    build/release/experiments/micro/thinwire_scaling "$model" "$threads" "${ROUNDS:-15}" ||
      status=$?
    [ $status -le 1 ] || exit 2
    [ $status -eq 0 ] || failed=1
  done
done
exit $failed
