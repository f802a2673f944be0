#!/usr/bin/env bash
# Regenerates what PRISM and TRACE print beside ours, under results/prism/ and results/trace/.
# Installs what is missing, builds, sweeps, writes tables, figures and a report each, checks them,
# and puts both on one HTML page, results/report.html.
#
# Usage: experiments/reproduce.sh [--quick] [--resume]
#   --quick   fewer iterations, ViViT on two and three devices only, under results/*-quick/
#   --resume  keep the points that an interrupted reproduction has finished
# Exit status: 0 all checks pass, 1 one fails, 2 bad usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh
source scripts/options.sh

quick=no resume=no
read_options experiments/reproduce.sh "$@"
suffix="" repetitions=() rounds=("") video=()
if [ "$quick" = yes ]; then
  suffix=-quick repetitions=(--iterations 3 --warmup 1)
  rounds=(0 1 2)
  video=(--devices "2,3" --iterations 1 --warmup 0)
fi
readonly resume suffix repetitions rounds video

# run_sweep <sweep|predict> <document> [options that override the document]
run_sweep() {
  local command=$1 document=$2 started=$SECONDS
  shift 2
  "$thinwire" "$command" "experiments/paper/$document.json" --json "$results/$document.jsonl" "$@" ||
    die "thinwire $command experiments/paper/$document.json failed"
  printf '%s: %d s\n' "$document" "$((SECONDS - started))"
}

# begin <paper>: where its results go
begin() {
  paper=$1 results=results/$1$suffix
  mkdir -p "$results"
  [ "$resume" = yes ] || rm -f "$results"/*.jsonl
}

# finish <sweep>...: tables from the records of the sweeps, figures and report. A cell is filled from
# the last record that fits it, so sweeps whose links a table asks for come last.
finish() {
  local name format extension
  for name in "$@"; do cat "$results/$name.jsonl"; done >"$results/all.jsonl"
  for format in markdown csv json; do
    extension=$format
    [ "$format" != markdown ] || extension=md
    "$thinwire" tables --published "results/published/$paper.json" \
      --results "$results/all.jsonl" --format "$format" >"$results/tables.$extension" ||
      die "thinwire tables failed"
  done
  PYTHONPATH=analysis "$python" -m thinwire_analysis "$paper" --results "$results" \
    --out "$results" || status=$?
  reports+=("$results/report.md")
}

reproduce_prism() {
  begin prism
  say "PRISM: every row of its three tables, one pass each"
  run_sweep sweep prism-tables
  say "PRISM: latency over the link's rate, measured on this machine"
  run_sweep sweep latency-measured "${repetitions[@]}"
  say "PRISM: the same predicted at 160 GFLOP/s a device"
  run_sweep predict latency-modelled
  say "PRISM: scaling-aware softmax beside repeated means"
  run_sweep sweep duplication "${repetitions[@]}"
  say "PRISM: tables and figures in $results/"
  finish prism-tables duplication latency-measured latency-modelled
}

# run_timeline <strategy> [options]: one iteration's timeline at the rate of TRACE's Table IV
run_timeline() {
  local strategy=$1
  shift
  "$thinwire" run --strategy "$strategy" --devices 2 --threads 2 --rate 10Mibps \
    --topology broadcast --iterations 1 --warmup 2 --trace "$results/timeline-$strategy.json" "$@" \
    >/dev/null || die "thinwire run --strategy $strategy --trace failed"
}

reproduce_trace() {
  begin trace
  say "TRACE: bits, ratios and operations by formula"
  run_sweep predict trace-formulas
  say "TRACE: latency at 1 to 20 Mbps, measured on this machine"
  run_sweep sweep trace-latency "${repetitions[@]}"
  say "TRACE: astra and trace-b in turn, measured on this machine"
  local round
  for round in "${rounds[@]}"; do
    run_sweep sweep trace-ratios ${round:+--repeat "$round"}  # without: the document's own rounds
  done
  say "TRACE: timelines of one iteration"
  run_timeline voltage
  run_timeline prism --segments 5
  run_timeline astra
  run_timeline trace-b
  say "TRACE: ViViT with and without buffers, measured on this machine"
  run_sweep sweep trace-buffers "${video[@]}"
  say "TRACE: communication in Voltage's latency, BERT at 1,024 tokens, measured"
  run_sweep sweep bert-share "${repetitions[@]}"
  say "Both papers: topologies and tensor parallelism by formula"
  run_sweep predict topologies
  run_sweep predict tensor
  say "TRACE: tables and figures in $results/"
  finish topologies tensor bert-share trace-formulas trace-buffers trace-ratios trace-latency
}

install_packages
make_python_environment
build_release

started=$SECONDS status=0 reports=()
reproduce_prism
reproduce_trace
say "Both papers: one page with every figure and table"
page="results/report$suffix.html"
"$python" -m analysis.report "results/prism$suffix" "results/trace$suffix" -o "$page" || status=$?
reports+=("$page")
say "Done in $((SECONDS - started)) s after the build; read ${reports[*]}"
exit "$status"
