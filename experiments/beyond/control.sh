#!/usr/bin/env bash
# Levels of the codebooks chosen for every message beside every fixed level, on links whose rate
# follows experiments/traces: latency (modelled, devices of 10 GFLOP/s) and score over the same
# samples, under results/beyond/control/; with the latency that a message has on such links, under
# results/beyond/control-latency/; with indices coded across layers, under
# results/beyond/control-coded/. Trains codebooks, scores, prints a table and verdicts:
# `adaptive` fails where a fixed level that scores as well is faster by more than chance, and ties
# where one may be; `probing` is reported beside.
#
# Models and data: $THINWIRE_SHARED or ../shared; without them the small ones that PyPI packages
# carry (experiments/prepare/newcomer.sh), under build/study-data/.
#
# Usage: experiments/beyond/control.sh [--quick] [--resume] [--json DIR]
#   --quick     a tenth of the samples, under results/beyond-quick/
#   --resume    keep the points that an interrupted study has finished
#   --json DIR  where records and tables go
# Settings: THINWIRE, the program; else it is built. Codebooks stay in DIR/codebooks.
# Exit status: 0 no check fails (ties do not), 1 one does, 2 bad usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/setup.sh
source scripts/build-program.sh
source scripts/options.sh

quick=no resume=no json=""
read_options experiments/beyond/control.sh "$@"
results=results/beyond/control shrink=1
[ "$quick" = no ] || results=results/beyond-quick/control shrink=10
results=${json:-$results}
readonly resume results shrink
readonly shared=${THINWIRE_SHARED:-../shared} traces=experiments/traces
# Of a single-board computer's cores.
readonly device_gflops=10

build_program THINWIRE thinwire src/cli/thinwire
[ -x "$python" ] || make_python_environment

# score <folder> <trace> <options...>: every level and both controllers
score() {
  local folder=$1 trace=$2 levels
  shift 2
  mkdir -p "$folder"
  for levels in 0..4 adaptive,probing; do
    # shellcheck disable=SC2153  # set by build_program
    "$THINWIRE" eval --model "$model" --data "$data" --samples "$samples" --strategy "$strategy" \
      --devices 2 --codebook "$book" --level "$levels" --device-gflops "$device_gflops" \
      --rate-trace "$traces/$trace.csv" "$@" --json "$folder/$name.jsonl" \
      --scores "$folder/$name.scores" >>"$folder/$name.log" 2>&1 || {
      tail -n 3 "$folder/$name.log" >&2
      die "thinwire eval failed for $name on $trace"
    }
  done
}

# task <model> <calibration data> <its samples> <scored data> <samples> <strategy> <K>
task() {
  model=$1 data=$4 strategy=$6
  samples=$((${5%%+*}))..$((${5%%+*} + ${5##*+} / shrink - 1))
  name=$(basename "$model")-$strategy book=$results/codebooks/$name.safetensors
  local started=$SECONDS trace
  mkdir -p "$results/codebooks"
  [ "$resume" = yes ] || rm -f "$results"{,-latency,-coded}/"$name".{jsonl,scores,log}
  [ "$resume" = yes ] && [ -e "$book" ] ||
    "$THINWIRE" codebook train --model "$model" --strategy "$strategy" --devices 2 \
      --codewords "$7" --input "$2" --samples "$3" --out "$book" >"$book.log" 2>&1 ||
    die "a codebook of $name could not be trained"
  # The first folder: goodput alone; the second: what a message takes beside, channel access and
  # scheduling included (a round trip's half as vendors and measurements give it); the third:
  # goodput, with coded indices.
  for trace in wifi:1ms lte:10ms zigbee:3ms lora:20ms lora-duty:20ms; do
    score "$results" "${trace%:*}"
    score "$results-latency" "${trace%:*}" --latency "${trace#*:}"
    score "$results-coded" "${trace%:*}" --index-coding cross-layer
  done
  printf '%s: %d s\n' "$name" "$((SECONDS - started))"
}

if [ -d "$shared/models" ] && [ -d "$shared/data" ]; then
  vit=("$shared/models/vit-cifar10" "$shared/data/cifar10_calib.safetensors" 0..767
    "$shared/data/cifar10_test.safetensors" 0+1000)
  task "${vit[@]}" trace-b 512
  task "${vit[@]}" trace-nb 512
  task "$shared/models/gpt2-shakespeare" "$shared/data/shakespeare.safetensors" 0..127 \
    "$shared/data/shakespeare.safetensors" 0+60 trace-b 512
else
  [ -d build/study-data/vit-digits ] || experiments/prepare/newcomer.sh ||
    die "experiments/prepare/newcomer.sh failed"
  task build/study-data/vit-digits build/study-data/digits_calib.safetensors 0..767 \
    build/study-data/digits_test.safetensors 0+500 trace-b 512
fi

status=0
for folder in "$results"{,-latency,-coded}; do
  say "$folder"
  PYTHONPATH=analysis "$python" -m thinwire_analysis.level_control "$folder" || status=1
done
exit "$status"
