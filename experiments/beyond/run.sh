#!/usr/bin/env bash
# What lies beyond the papers, under results/beyond/: bits a token of coded indices at equal
# predictions, the Pareto front with and without coding and reduced payloads, the slowest link on
# which splitting still beats one device, and the studies beside this script: levels on links that
# change, lost frames, payloads. Builds what is missing, trains codebooks, scores, predicts, writes
# tables, figures and a report, checks them.
#
# Models and data: $THINWIRE_SHARED or ../shared; without them the small ones that PyPI packages
# carry (experiments/prepare/newcomer.sh), under build/study-data/.
#
# Usage: experiments/beyond/run.sh [--quick] [--resume] [--json DIR]
#   --quick     a tenth of the samples, under results/beyond-quick/
#   --resume    keep the points that an interrupted study has finished
#   --json DIR  where records, tables, figures and report go
# Settings: THINWIRE, DUMP_INDICES and CODE_FRAMES, the programs; else they are built.
# Codebooks stay in DIR/<task>/codebooks.
# Exit status: 0 all checks pass, 1 one fails, 2 bad usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/setup.sh
source scripts/build-program.sh
source scripts/options.sh

quick=no resume=no json="" passed=()
read_options experiments/beyond/run.sh "$@"
results=results/beyond shrink=1 calibration_shrink=1
[ "$quick" = no ] || results=results/beyond-quick shrink=10 calibration_shrink=3 passed+=(--quick)
[ "$resume" = no ] || passed+=(--resume)
results=${json:-$results}
readonly resume results shrink calibration_shrink passed
readonly shared=${THINWIRE_SHARED:-../shared} here=experiments/beyond
# What the devices of predictions compute, and the link that latencies are predicted for.
readonly device_gflops=10 rate=250kbps

# range <first> <samples> [divisor]: as many as this study takes of them
range() { printf '%d..%d' "$1" "$(($1 + $2 / ${3:-$shrink} - 1))"; }
calibrating() { range 0 "$1" "$calibration_shrink"; }

# task <name> <model> <calibration data> <its samples> <scored data> <samples> <tokens> <K>...
task() {
  name=$1 model=$2 calibration=$3 calibrated=$4 data=$5 scored=$6 tokens=$7
  shift 7
  sizes=("$@") folder=$results/$name books=$results/$name/codebooks
  mkdir -p "$books"
  [ "$resume" = yes ] || rm -f "$folder"/*.{jsonl,scores,predicted,log}
  say "$name: $(basename "$model"), $(basename "$data") $scored ($((SECONDS - started)) s)"
}

# train <strategy> <P> <K> [options]: one codebook with its tables, unless it is there
train() {
  local book=$books/$1-p$2-k$3.safetensors at=$SECONDS
  local args=(--input "$calibration" --samples "$calibrated" --strategy "$1" --devices "$2"
    --codewords "$3" "${@:4}")
  if [ -e "$book" ] && [ "$(cat "$book.args" 2>/dev/null)" = "${args[*]}" ]; then return; fi
  rm -f "$book" "$book.args"
  "$THINWIRE" codebook train --model "$model" "${args[@]}" --out "$book" >"$book.log" 2>&1 || {
    tail -n 3 "$book.log" >&2
    die "the codebook $(basename "$book") of $name could not be trained"
  }
  "$THINWIRE" codebook info "$book" --model "$model" --json >"${book%.safetensors}.info" ||
    die "thinwire codebook info failed for $name"
  printf '%s' "${args[*]}" >"$book.args"
  printf '%s %s: %d s\n' "$name" "$(basename "$book")" "$((SECONDS - at))"
}

# score <part> <options...>: appends the points' records and scores to a part of the task
score() {
  local part=$1
  shift
  "$THINWIRE" eval --model "$model" --data "$data" --samples "$scored" "$@" \
    --json "$folder/$part.jsonl" --scores "$folder/$part.scores" >>"$folder/$part.log" 2>&1 || {
    tail -n 3 "$folder/$part.log" >&2
    die "thinwire eval failed for $name $part"
  }
}

# latency <options...>: the same points' times by formula
latency() {
  "$THINWIRE" predict --model "$model" ${tokens:+--tokens "$tokens"} --rate "$rate" \
    --device-gflops "$device_gflops" "$@" --json "$folder/latency.predicted" \
    >"$folder/predict.log" 2>&1 || {
    tail -n 3 "$folder/predict.log" >&2
    die "thinwire predict failed for $name"
  }
}

# both <part> <options...>: scored and predicted
both() {
  score "$@"
  latency "${@:2}"
}

# codings: every codebook at its finest level, its indices in every coding
codings() {
  local size strategy devices book at=$SECONDS
  for size in "${sizes[@]}"; do
    for book in trace-b/2 trace-b/4 trace-nb/2 astra/2; do
      strategy=${book%/*} devices=${book#*/}
      train "$strategy" "$devices" "$size" "$@"
      score coding --strategy "$strategy" --devices "$devices" \
        --codebook "$books/$strategy-p$devices-k$size.safetensors" \
        --index-coding fixed,entropy,cross-layer
    done
  done
  printf '%s coding: %d s\n' "$name" "$((SECONDS - at))"
}

# contexts: which contexts make trace-b's indices cheap on two devices at the largest codebook, and
# what frames of them take, also short ones, in bits and time
contexts() {
  local at=$SECONDS size=${sizes[-1]} dump=$folder/indices
  local book=$books/trace-b-p2-k$size.safetensors
  {
    "$DUMP_INDICES" "$model" "$book" "$calibration" "$calibrated" train trace-b 2 -1 \
      "$dump-train.safetensors" && "$DUMP_INDICES" "$model" "$book" "$data" "$scored" valid \
      trace-b 2 -1 "$dump-test.safetensors"
  } || die "the indices of $name could not be written"
  "$python" $here/contexts.py "$dump-train.safetensors" "$dump-test.safetensors" \
    "$size" >"$folder/contexts.txt" || die "$here/contexts.py failed for $name"
  OMP_NUM_THREADS=1 "$CODE_FRAMES" "$size" "$size" "$dump-train.safetensors" \
    "$dump-test.safetensors" >"$folder/frames.json" || die "frames of $name could not be coded"
  rm "$dump"-{train,test}.safetensors
  printf '%s contexts: %d s\n' "$name" "$((SECONDS - at))"
}

# front: what the Pareto fronts choose from
front() {
  local devices strategy book at=$SECONDS
  both exact --strategy single
  both exact --strategy voltage --devices 2,4 --payload fp32,fp16,int8
  both prism --strategy prism --devices 2,4 --compression-rate 2,4,8 --payload fp32,int8
  for devices in 2 4; do
    book=$books/trace-b-p$devices-k${sizes[0]}.safetensors
    both trace --strategy trace-b --devices "$devices" --codebook "$book" \
      --active-codewords "2,8,32,${sizes[0]}" --index-coding fixed,cross-layer
  done
  for strategy in trace-nb astra; do
    both trace --strategy "$strategy" --devices 2 --index-coding fixed,cross-layer \
      --codebook "$books/$strategy-p2-k${sizes[0]}.safetensors"
  done
  printf '%s front: %d s\n' "$name" "$((SECONDS - at))"
}

# own_links: the slowest links of this model with its own codebooks
own_links() {
  local document=$folder/break-even.document
  sed "s|MODEL|$model|g; s|CODEBOOKS|$books|g; s|SIZE|${sizes[0]}|g; s|\"TOKENS\"|${tokens:-0}|" \
    $here/break-even-model.json >"$document"
  find_links "$document"
}

# find_links <document> [options]
find_links() {
  THINWIRE=$THINWIRE "$python" $here/break_even.py "$@" --json "$results/break-even.predicted" ||
    die "$here/break_even.py failed"
}

# machine_gflops: of one core with half of ViT-B/16's rows
machine_gflops() {
  [ -e "$results/device.profile" ] ||
    "$THINWIRE" calibrate --json "$results/device.profile" >/dev/null 2>&1 ||
    die "thinwire calibrate failed"
  "$python" -c 'import json, sys
rates = json.load(open(sys.argv[1]))["device"]["gflops_by_rows"]
print(round(rates[-2]["gflops"], 1))' "$results/device.profile"
}

# everything <train options>: a task's parts
everything() {
  codings "$@"
  contexts
  front
  own_links
}

study_shared() {
  local models=$shared/models sets=$shared/data
  task cifar10 "$models/vit-cifar10" "$sets/cifar10_calib.safetensors" "$(calibrating 768)" \
    "$sets/cifar10_test.safetensors" "$(range 0 1000)" "" 512
  everything
  task sts "$models/minilm-l6" "$sets/sts_packed.safetensors" "$(calibrating 2500)" \
    "$sets/sts_packed.safetensors" "$(range 2500 500)" 14 512 1024
  everything
  task shakespeare "$models/gpt2-shakespeare" "$sets/shakespeare.safetensors" \
    "$(calibrating 128)" "$sets/shakespeare.safetensors" "$(range 0 60)" 256 512
  everything --batch 16
}

study_newcomer() {
  local made=build/study-data
  task digits "$made/vit-digits" "$made/digits_calib.safetensors" "$(calibrating 768)" \
    "$made/digits_test.safetensors" "$(range 0 500)" "" 512
  everything
}

# beside <name>: the study of a script beside this one; its records go into a folder of its name
beside() {
  local script=$here/$1.sh at=$SECONDS code=0
  [ -x "$script" ] || { say "$1: not here ($script)"; return 0; }
  say "$1 ($((SECONDS - started)) s)"
  "$script" "${passed[@]}" --json "$results/$1" || code=$?
  [ "$code" -le 1 ] || die "$script failed"
  [ "$code" -eq 0 ] || status=1 # a claim of its own does not hold
  printf '%s: %d s\n' "$1" "$((SECONDS - at))"
}

make_python_environment
build_program THINWIRE thinwire src/cli/thinwire
build_program DUMP_INDICES thinwire_dump_indices experiments/beyond/thinwire_dump_indices
build_program CODE_FRAMES thinwire_code_frames experiments/beyond/thinwire_code_frames
export THINWIRE
mkdir -p "$results"
rm -f "$results"/*.predicted
[ "$resume" = yes ] || rm -f "$results/device.profile"

# besides: the studies beside this one
besides() {
  local name
  status=0
  for name in control loss payload; do beside "$name"; done
  exit "$status"
}

has_models() { [ -d "$shared/models" ] && [ -d "$shared/data" ]; }

started=$SECONDS status=0
has_models || {
  say "No models in $shared: taking what PyPI packages carry"
  experiments/prepare/newcomer.sh || die "experiments/prepare/newcomer.sh failed"
}
say "The slowest links by formula"
find_links $here/break-even.json --device-gflops "$device_gflops"
find_links $here/break-even.json --device-gflops "$(machine_gflops)"
# On another core, since each of them takes one; in a process group of its own, to be stopped whole.
set -m
besides >"$results/besides.log" 2>&1 &
readonly besides=$!
set +m
trap 'kill -- "-$besides" 2>/dev/null || true' EXIT
if has_models; then study_shared; else study_newcomer; fi
say "Waiting for the studies beside ($((SECONDS - started)) s)"
wait "$besides" || status=1
cat "$results/besides.log"
say "Tables, figures and report in $results/"
PYTHONPATH=analysis "$python" -m thinwire_analysis beyond --results "$results" --out "$results" ||
  status=$?
"$python" -m analysis.report "$results" -o "$results/report.html" || status=$?
say "Done in $((SECONDS - started)) s after the build; read $results/report.{md,html}"
exit "$status"
