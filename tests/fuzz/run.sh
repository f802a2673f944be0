#!/usr/bin/env bash
# Fuzzes every parser with libFuzzer under the address and undefined-behaviour sanitizers.
#
# Usage: tests/fuzz/run.sh [SECONDS [TARGET...]]
#   SECONDS  for each target (default 600)
#   TARGET   of tests/fuzz/*_fuzz.cpp, without _fuzz.cpp (default: all, one after the other)
# Exit status: 0 no finding, 1 a finding (its input is named and kept), 2 bad usage.
#
# Inputs that reach new code are kept in build/fuzz/corpus/TARGET and serve the next run, too. To
# renew what is committed, merge the smallest ones into tests/fuzz/corpus/TARGET:
#   build/fuzz/tests/fuzz/TARGET_fuzz -set_cover_merge=1 -max_len=4096 \
#     tests/fuzz/corpus/TARGET build/fuzz/corpus/TARGET
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
source scripts/setup.sh

usage() { sed -n '4,7p' tests/fuzz/run.sh >&2; exit 2; }

seconds=${1:-600}
[[ "$seconds" =~ ^[1-9][0-9]*$ ]] || usage
shift $(($# > 0 ? 1 : 0))
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for source in tests/fuzz/*_fuzz.cpp; do targets+=("$(basename "$source" _fuzz.cpp)"); done
fi
for target in "${targets[@]}"; do
  [ -f "tests/fuzz/${target}_fuzz.cpp" ] || { echo "no target $target" >&2; usage; }
done

command -v clang++-16 >/dev/null ||
  die "clang is missing. On Debian: apt-get install clang-16 libclang-rt-16-dev libomp-16-dev"
say "Building the fuzz preset"
cmake --preset fuzz >/dev/null || die "cmake could not configure the fuzz preset"
cmake --build --preset fuzz --target "${targets[@]/%/_fuzz}" || die "the build failed"

findings=0
for target in "${targets[@]}"; do
  say "$target: $seconds s"
  corpus=build/fuzz/corpus/$target
  mkdir -p "$corpus" build/fuzz/findings
  options=(-max_total_time="$seconds" -max_len=4096 -timeout=25 -rss_limit_mb=2048
    -artifact_prefix="build/fuzz/findings/$target-" -print_final_stats=1 -verbosity=0)
  OMP_NUM_THREADS=1 "build/fuzz/tests/fuzz/${target}_fuzz" "${options[@]}" \
    "$corpus" "tests/fuzz/corpus/$target" || findings=$((findings + 1))
done
say "$findings of ${#targets[@]} targets have a finding (build/fuzz/findings)"
[ "$findings" -eq 0 ]
