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
source scripts/options.sh

quick=no filter=-single_device_pass json=""
read_options experiments/micro/run.sh "$@"
repetitions=${REPETITIONS:-15} seconds=0.02
[ "$quick" = no ] || repetitions=3 seconds=0.001
[[ "$repetitions" =~ ^[1-9][0-9]*$ ]] ||
  bad_usage experiments/micro/run.sh "REPETITIONS=$repetitions: a number from 1"
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
