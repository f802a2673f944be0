#!/usr/bin/env bash
# Times every operator and compressor alone and writes medians, quartiles and rates to a file.
# Usage: experiments/micro/run.sh [--filter REGEX] [--json FILE] [--quick]
#   --filter REGEX  benchmarks whose names match; a leading - takes all others
#                   (-single_device_pass: that one is a study of its own)
#   --json FILE     where to write (results/micro-VERSION.json; of a release: results/reference/...)
#   --quick         3 repetitions: shows that everything runs, and is no measurement
# Settings: OMP_NUM_THREADS (all cores), REPETITIONS (15). Let the machine do nothing else, or put
# `chrt --rr 1` before (root). `python -m thinwire_analysis micro A.json B.json` compares two files.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
usage() {
  [ $# -eq 0 ] || echo "error: $*" >&2
  sed -n '3,9p' experiments/micro/run.sh | sed 's/^# \{0,1\}//' >&2
  exit 2
}

filter=-single_device_pass json="" repetitions=${REPETITIONS:-15} seconds=0.02
while [ $# -gt 0 ]; do
  case "$1" in
    --filter | --json)
      [ $# -gt 1 ] || usage "$1 needs a value"
      [ "$1" = --filter ] && filter=$2 || json=$2
      shift 2
      ;;
    --quick) repetitions=3 seconds=0.001 && shift ;;
    *) usage "unknown argument $1" ;;
  esac
done
[[ "$repetitions" =~ ^[1-9][0-9]*$ ]] || usage "REPETITIONS=$repetitions: a number from 1"
version=$(sed -n 's/^project(thinwire VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
json=${json:-results/micro-$version.json}
mkdir -p "$(dirname "$json")"

[ -f build/release/build.ninja ] || cmake --preset release >&2
cmake --build --preset release --target thinwire_micro >&2

raw=$(mktemp)
trap 'rm -f "$raw"' EXIT
export GOMP_SPINCOUNT=${GOMP_SPINCOUNT:-4000} # as thinwire sets it for itself
build/release/experiments/micro/thinwire_micro --benchmark_filter="$filter" \
  --benchmark_repetitions="$repetitions" --benchmark_min_time="$seconds" \
  --benchmark_enable_random_interleaving=true --benchmark_display_aggregates_only=true \
  --benchmark_out="$raw" --benchmark_out_format=json |
  grep -E '_median|^Benchmark|threads:'
PYTHONPATH=analysis python3 -m thinwire_analysis.micro_file "$raw" "$json"
echo "wrote $json" >&2
