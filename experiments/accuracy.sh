#!/usr/bin/env bash
# What compression costs in accuracy on real models and data, under results/accuracy/: scores of
# the single device beside their references, PRISM over (P, L), TRACE over levels, placements,
# hierarchies and updates, padded inputs beside packed ones. Installs, builds, trains
# codebooks, scores, writes tables, figures and a report, checks them.
#
# Models and data: $THINWIRE_SHARED or ../shared; without them small ones that PyPI packages carry
# (experiments/prepare/newcomer.sh), under build/study-data/.
#
# Usage: experiments/accuracy.sh [--quick] [--resume]
#   --quick   a tenth of the samples in the grids, under results/accuracy-quick/
#   --resume  keep the points that an interrupted study has finished
# Codebooks stay in results/accuracy*/<task>/codebooks; new options train them again.
# Exit status: 0 all checks pass, 1 one fails, 2 bad usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh
source scripts/options.sh

quick=no resume=no
read_options experiments/accuracy.sh "$@"
results=results/accuracy shrink=1 calibration_shrink=1
[ "$quick" = no ] || results=results/accuracy-quick shrink=10 calibration_shrink=3
shared=${THINWIRE_SHARED:-../shared}
readonly quick resume results shrink calibration_shrink shared rate=10Mbps
cores=$(nproc)
readonly cores

# range <first> <samples> [divisor]: as many as this study takes of them
range() {
  local first=$1 count=$(($2 / ${3:-$shrink}))
  printf '%d..%d' "$first" "$((first + count - 1))"
}

# calibrating <samples>: the first ones, enough for a codebook of 1,024 in a quick study, too
calibrating() { range 0 "$1" "$calibration_shrink"; }

# task <name> <model> <calibration data> <its samples> <scored data> <samples of the grids>
task() {
  name=$1 model=$2 calibration=$3 calibrated=$4 data=$5 scored=$6
  folder=$results/$name books=$results/$name/codebooks
  mkdir -p "$books"
  [ "$resume" = yes ] || rm -f "$folder"/*.{jsonl,scores,predicted,json,log}
  say "$name: $(basename "$model"), $(basename "$data") $scored"
}

# score <part> <data> [document] [options]: appends the points' records and scores to a part
score() {
  local part=$1 file=$2 started=$SECONDS
  shift 2
  "$thinwire" eval "$@" --model "$model" --data "$file" \
    --json "$folder/$part.jsonl" --scores "$folder/$part.scores" >>"$folder/$part.log" ||
    die "thinwire eval failed for $name $part"
  printf '%s %s: %d s\n' "$name" "$part" "$((SECONDS - started))"
}

# document <name>: a sweep's document with the task's codebooks in it; prints its path
document() {
  sed "s|CODEBOOKS|$books|" "experiments/accuracy/$1.json" >"$folder/$1.document"
  printf '%s' "$folder/$1.document"
}

# train <codebook> <options...>: one codebook, unless it is there, made with these options
train() {
  local codebook=$1 started=$SECONDS
  shift
  local args="$*"
  if [ -e "$codebook" ] && [ "$(cat "$codebook.args" 2>/dev/null)" = "$args" ]; then return; fi
  rm -f "$codebook" "$codebook.args"
  "$thinwire" codebook train --model "$model" "$@" --out "$codebook" >"$codebook.log" 2>&1 || {
    tail -n 3 "$codebook.log" >&2
    return 1
  }
  printf '%s' "$args" >"$codebook.args"
  printf '%s %s: %d s\n' "$name" "$(basename "$codebook")" "$((SECONDS - started))"
}

# train_all <options for all> -- <document...>: what the documents name, one a core at a time. A
# codebook's name says how it is made: <strategy>-p<P>-k<K>[-<hierarchy or update>].safetensors
train_all() {
  local options=() files codebook
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  files=$(sed "s|^|experiments/accuracy/|; s|$|.json|" <<<"$(printf '%s\n' "$@")")
  local wanted pattern='^(.+)-p([0-9]+)-k([0-9]+)-?([a-z]*)$' own running=0
  # shellcheck disable=SC2086
  wanted=$(grep -ho 'CODEBOOKS/[^"]*' $files | sed 's|CODEBOOKS/||; s|\.safetensors||' | sort -u)
  printf '%s: %d codebooks\n' "$name" "$(wc -l <<<"$wanted")"
  for codebook in $wanted; do
    [[ $codebook =~ $pattern ]] || die "codebook $codebook: no name of a strategy, P and K"
    own=(--strategy "${BASH_REMATCH[1]}" --devices "${BASH_REMATCH[2]}"
      --codewords "${BASH_REMATCH[3]}")
    case "${BASH_REMATCH[4]}" in
      cosine | usage) own+=(--hierarchy "${BASH_REMATCH[4]}") ;;
      subspace) own+=(--update subspace --subspace-width "$subspace") ;;
      ?*) own+=(--update "${BASH_REMATCH[4]}") ;;
    esac
    if [ "$running" -ge "$cores" ]; then
      wait -n || die "a codebook of $name could not be trained"
      running=$((running - 1))
    fi
    train "$books/$codebook.safetensors" --input "$calibration" --samples "$calibrated" \
      "${own[@]}" "${options[@]}" &
    running=$((running + 1))
  done
  while [ "$running" -gt 0 ]; do
    wait -n || die "a codebook of $name could not be trained"
    running=$((running - 1))
  done
}

# grids <kind> <tokens>: everything that a task is scored on in grids, and its predicted times
grids() {
  local kind=$1 tokens=$2 part options=(--samples "$scored" --agreement on) gflops
  score exact "$data" experiments/accuracy/exact.json "${options[@]}"
  score prism "$data" "experiments/accuracy/prism-$kind.json" "${options[@]}"
  score trace "$data" "$(document "trace-$kind")" "${options[@]}"
  score variants "$data" "$(document "variants-$kind")" "${options[@]}"
  if grep -qw avx512_bf16 /proc/cpuinfo; then
    score bf16 "$data" "$(document "bf16-$kind")" "${options[@]}"
  fi
  gflops=$(device_gflops "$tokens")
  for part in experiments/accuracy/exact.json "experiments/accuracy/prism-$kind.json" \
    "$(document "trace-$kind")"; do
    "$thinwire" predict "$part" --model "$model" ${tokens:+--tokens "$tokens"} --rate "$rate" \
      --device-gflops "$gflops" --json "$folder/latency.predicted" >/dev/null ||
      die "thinwire predict $part failed for $name"
  done
}

# device_gflops <tokens>: of one core with half of a sequence's rows
device_gflops() {
  [ -e "$folder/device.profile" ] ||
    "$thinwire" calibrate --model "$model" ${1:+--tokens "$1"} --json "$folder/device.profile" \
      >/dev/null || die "thinwire calibrate failed for $name"
  "$python" -c 'import json, sys
rates = json.load(open(sys.argv[1]))["device"]["gflops_by_rows"]
print(round(rates[-2]["gflops"], 2))' "$folder/device.profile"
}

padded_inputs() { PYTHONPATH=analysis "$python" -m thinwire_analysis.padded_inputs "$@"; }

# pad_study <padded data> <samples of the widest> <positions>...: PRISM with one mean a device, with
# padding and without
pad_study() {
  local padded=$1 few=$2 wide positions options=(--agreement on)
  shift 2
  local prism=(--strategy prism --devices "2,3" --segments 1)
  for positions in "$@"; do
    wide=$folder/$(basename "$data" .safetensors)_$positions.safetensors
    padded_inputs pad "$data" --samples "$few" --positions "$positions" --out "$wide" ||
      die "$data could not be padded"
    score padding "$wide" "${options[@]}"
    score padding "$wide" "${options[@]}" "${prism[@]}"
    padded_inputs lengths "$wide" --samples "0..$((${few#*..} - ${few%..*}))" --devices 2,3 \
      --out "$folder/padding.json" || die "$wide: no lengths"
  done
  if [ -n "$padded" ]; then
    score padding "$padded" --samples "$scored" "${options[@]}"
    score padding "$padded" --samples "$scored" "${options[@]}" "${prism[@]}"
    padded_inputs lengths "$padded" --samples "$scored" --devices 2,3 \
      --out "$folder/padding.json" || die "$padded: no lengths"
  fi
  score padding "$data" --samples "$few" "${options[@]}"
  score padding "$data" --samples "$few" "${options[@]}" --strategy prism --devices 2,3 \
    --compression-rate 128
  padded_inputs lengths "$data" --samples "$few" --devices 2,3 --out "$folder/padding.json" ||
    die "$data: no lengths"
  padded_inputs lengths "$data" --samples "$scored" --devices 2,3 --out "$folder/padding.json" ||
    die "$data: no lengths"
}

study_shared() {
  local models=$shared/models sets=$shared/data
  task cifar10 "$models/vit-cifar10" "$sets/cifar10_calib.safetensors" "$(calibrating 768)" \
    "$sets/cifar10_test.safetensors" "$(range 0 1500)"
  subspace=43 # a third of the width, as 256 of 768
  score reference "$data"
  train_all -- trace-pictures variants-pictures
  grids pictures ""

  task sts "$models/minilm-l6" "$sets/sts_packed.safetensors" "$(calibrating 500)" \
    "$sets/sts_packed.safetensors" "$(range 1000 320)"
  subspace=128
  score reference "$data"
  train_all -- trace-sentences variants-sentences
  grids sentences 14
  pad_study "$sets/sts.safetensors" "$(range 1000 120)" 256

  task mrpc "$models/minilm-l6" "" "" "$sets/mrpc.safetensors" all
  score reference "$data"

  task shakespeare "$models/gpt2-shakespeare" "$sets/shakespeare.safetensors" "$(calibrating 128)" \
    "$sets/shakespeare.safetensors" "$(range 0 60)"
  subspace=64
  score reference "$data"
  train_all --batch 16 -- trace-text variants-text
  grids text 256
}

study_newcomer() {
  local made=build/study-data
  say "No models in $shared: taking what PyPI packages carry"
  experiments/prepare/newcomer.sh || die "experiments/prepare/newcomer.sh failed"
  task digits "$made/vit-digits" "$made/digits_calib.safetensors" "$(calibrating 768)" \
    "$made/digits_test.safetensors" "$(range 0 500)"
  subspace=11
  score reference "$data"
  train_all -- trace-pictures variants-pictures
  grids pictures ""

  task sentences "$made/minilm-l6" "$made/sentences_calib.safetensors" "$(calibrating 100)" \
    "$made/sentences.safetensors" "$(range 0 80)"
  subspace=128
  score reference "$data"
  train_all -- trace-sentences variants-sentences
  grids sentences 90
  pad_study "" "$(range 0 40)" 256
}

install_packages
make_python_environment
build_release

started=$SECONDS status=0
if [ -d "$shared/models" ] && [ -d "$shared/data" ]; then
  study_shared
else
  study_newcomer
fi
say "Tables, figures and report in $results/"
PYTHONPATH=analysis "$python" -m thinwire_analysis accuracy --results "$results" \
  --out "$results" || status=$?
"$python" -m analysis.report "$results" -o "$results/report.html" || status=$?
say "Done in $((SECONDS - started)) s after the build; read $results/report.{md,html}"
exit "$status"
