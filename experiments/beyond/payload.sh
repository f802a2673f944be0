#!/usr/bin/env bash
# Accuracy of voltage and PRISM with rows sent in fp16, bf16 and int8, beside fp32: a table, and
# whether int8 stays within 0.3 points at a quarter of the bits.
#
# Models and data: $THINWIRE_SHARED or ../shared; without them the small ones that PyPI packages
# carry (experiments/prepare/newcomer.sh), under build/study-data/.
#
# Usage: experiments/beyond/payload.sh [--quick] [--resume] [--json DIR]
#   --quick     a tenth of the samples, under results/beyond-quick/payload/
#   --resume    keep the points that an interrupted study has finished
#   --json DIR  where records go; else results/beyond/payload/
# Settings: THINWIRE, the program; else it is built.
# Exit status: 0 int8 keeps what it has to, 1 it does not, 2 bad usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/setup.sh
source scripts/build-program.sh
source scripts/options.sh

quick=no resume=no json=""
read_options experiments/beyond/payload.sh "$@"
results=results/beyond/payload shrink=1
[ "$quick" = no ] || results=results/beyond-quick/payload shrink=10
results=${json:-$results}
readonly resume results shrink shared=${THINWIRE_SHARED:-../shared} here=experiments/beyond

# score <task> <model> <data> <first> <samples>: voltage and PRISM in every format
score() {
  local file=$results/$1.jsonl points at=$SECONDS
  [ "$resume" = yes ] || rm -f "$file"
  for points in "voltage" "prism --compression-rate 2,4"; do
    # shellcheck disable=SC2086,SC2153  # several options; set by build_program
    "$THINWIRE" eval --model "$2" --data "$3" --samples "$4..$(($4 + $5 / shrink - 1))" \
      --strategy $points --devices 2,4 --payload fp32,fp16,bf16,int8 --agreement on \
      --json "$file" >>"$results/$1.log" || die "thinwire eval failed for $1 $points"
  done
  printf '%s: %d s\n' "$1" "$((SECONDS - at))"
}

build_program THINWIRE thinwire src/cli/thinwire
mkdir -p "$results"
if [ -d "$shared/models" ] && [ -d "$shared/data" ]; then
  score cifar10 "$shared/models/vit-cifar10" "$shared/data/cifar10_test.safetensors" 0 1500
  score sts "$shared/models/minilm-l6" "$shared/data/sts_packed.safetensors" 1000 320
  score shakespeare "$shared/models/gpt2-shakespeare" "$shared/data/shakespeare.safetensors" 0 60
else
  say "No models in $shared: taking what PyPI packages carry"
  install_packages
  make_python_environment
  experiments/prepare/newcomer.sh || die "experiments/prepare/newcomer.sh failed"
  made=build/study-data
  score digits "$made/vit-digits" "$made/digits_test.safetensors" 0 500
  score sentences "$made/minilm-l6" "$made/sentences.safetensors" 0 80
fi
python3 $here/payload.py "$results"/*.jsonl
