#!/usr/bin/env bash
# What thinwire itself costs beside what cannot be saved, as a Markdown table: ours, bare, their
# ratio (medians of blocks taken in turn) with its quarters, the target, pass or FAIL.
#   exchange   a collective of the native clock beside the bare MPI_Allgatherv of the same bytes
#   encode     CPU time to encode, copy and post a frame of 99 indices; Segment Means and packing
#   emulation  a pass of 2 to 10 devices on this node beside the sum of their compute (6 minutes)
# Usage: experiments/costs/run.sh [exchange|encode|emulation|all]   (all)
# Builds what is missing. Let the machine do nothing else. Exit status 1 when a figure misses its
# target.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
part=${1:-all}
case $part in exchange | encode | emulation | all) ;; *)
  echo "run.sh: '$part' is none of exchange, encode, emulation, all" >&2
  exit 2 ;;
esac
source scripts/build-program.sh
[ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export GOMP_SPINCOUNT=${GOMP_SPINCOUNT:-4000} # as thinwire sets it for itself
failed=0

# measure RANKS PROGRAM [ARGUMENT...]: of mpirun's own words only those about other failures.
measure() {
  local ranks=$1 program=$2 status=0 file=""
  shift 2
  build_program file "$program" "experiments/costs/$program"
  mpirun --quiet --oversubscribe --bind-to none -n "$ranks" "$file" "$@" || status=$?
  [ $status -le 1 ] || { echo "run.sh: $program ended with status $status" >&2; exit 1; }
  [ $status -eq 0 ] || failed=1
}

echo '| figure | ours | bare | ours / bare | quarters | target | |'
echo '|---|---|---|---|---|---|---|'
case $part in exchange | all) measure 2 exchange_cost ;; esac
case $part in encode | all)
  measure 2 encode_cost
  measure 1 packing_cost ;;
esac
case $part in emulation | all)
  for strategy in voltage prism trace-b; do measure 10 emulation_cost $strategy; done ;;
esac
exit $failed
