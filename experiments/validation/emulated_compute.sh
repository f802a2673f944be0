#!/usr/bin/env bash
# Each device's compute time in an emulated Voltage run of ViT-B/16 beside the same part alone,
# with warm and with evicted caches.
# Usage: experiments/validation/emulated_compute.sh [DEVICES [THREADS [ITERATIONS]]]   (6 2 15)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
devices=${1:-6} threads=${2:-2} iterations=${3:-15}
program=build/release/experiments/validation/emulated_compute
[ -x "$program" ] || { echo "$program is missing: cmake --preset release && cmake --build --preset release" >&2; exit 1; }
[ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export GOMP_SPINCOUNT=${GOMP_SPINCOUNT:-4000} # as thinwire sets it for itself
for weights in warm cold; do
  mpirun --oversubscribe --bind-to none -n "$devices" "$program" "$threads" "$iterations" "$weights"
done
