#!/usr/bin/env bash
# Regenerates PRISM's tables and latency figure beside the published ones, under results/prism/.
# Installs what is missing, builds, sweeps, writes tables, figures and a report, checks them.
#
# Usage: experiments/reproduce.sh [--quick] [--resume]
#   --quick   3 iterations instead of 15, under results/prism-quick/
#   --resume  keep the points that an interrupted reproduction has finished
# Exit status: 0 all checks pass, 1 one fails, 2 bad usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh

quick=no resume=no
for option in "$@"; do
  case "$option" in
    --quick) quick=yes ;;
    --resume) resume=yes ;;
    *) sed -n '5,8p' experiments/reproduce.sh >&2; exit 2 ;;
  esac
done
results=results/prism repetitions=()
if [ "$quick" = yes ]; then
  results=results/prism-quick repetitions=(--iterations 3 --warmup 1)
fi
readonly resume results repetitions

# run_sweep <sweep|predict> <document> <result> [options that override the document]
run_sweep() {
  local command=$1 document=$2 result=$3 started=$SECONDS
  shift 3
  "$thinwire" "$command" "experiments/paper/$document.json" --json "$results/$result.jsonl" "$@" ||
    die "thinwire $command experiments/paper/$document.json failed"
  printf '%s: %d s\n' "$result" "$((SECONDS - started))"
}

# A cell is filled from the last record that fits it, so the latency sweeps come last: records of
# the others have no link of the rate that the latency table asks for.
write_tables() {
  local name format extension
  for name in tables duplication latency-measured latency-modelled; do
    cat "$results/$name.jsonl"
  done >"$results/all.jsonl"
  for format in markdown csv json; do
    extension=$format
    [ "$format" != markdown ] || extension=md
    "$thinwire" tables --published results/published/prism.json \
      --results "$results/all.jsonl" --format "$format" >"$results/tables.$extension" ||
      die "thinwire tables failed"
  done
}

install_packages
make_python_environment
build_release

mkdir -p "$results"
[ "$resume" = yes ] || rm -f "$results"/*.jsonl
started=$SECONDS

say "Sweep: every row of PRISM's three tables, one pass each"
run_sweep sweep prism-tables tables
say "Sweep: latency over the link's rate, measured on this machine"
run_sweep sweep latency-measured latency-measured "${repetitions[@]}"
say "Prediction: the same at 160 GFLOP/s a device"
run_sweep predict latency-modelled latency-modelled
say "Sweep: scaling-aware softmax beside repeated means"
run_sweep sweep duplication duplication "${repetitions[@]}"

say "Tables and figures in $results/"
write_tables
status=0
PYTHONPATH=analysis "$python" -m thinwire_analysis prism --results "$results" --out "$results" ||
  status=$?
say "Done in $((SECONDS - started)) s after the build; read $results/report.md"
exit "$status"
