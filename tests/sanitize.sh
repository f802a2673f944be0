#!/usr/bin/env bash
# The unit tests of one process under the address and undefined-behaviour sanitizers, and the
# in-process fabric, its threads and its clocks, under the thread sanitizer.
#
# Usage: tests/sanitize.sh [--all]
#   --all  the tests of train and harness, too: as much to build again as everything else
# Exit status: 0 nothing found, 1 a finding or a broken build, 2 bad usage.
#
# Left out: tests under mpirun (Open MPI leaks and is not built for sanitizers), and under the
# thread sanitizer whatever computes: libgomp, which joins OpenMP's threads, is not built for it, so
# that every parallel loop would be reported.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
source scripts/setup.sh

rooms=(base tensor ops model compress fabric cost strategy eval)
case "$*" in
  '') ;;
  --all) rooms+=(train harness) ;;
  *) sed -n '5,7p' tests/sanitize.sh >&2; exit 2 ;;
esac

# sanitized <preset> <room>...: builds and runs the tests of the rooms
sanitized() {
  local preset=$1 launcher=() log=build/$1.log
  shift
  command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  say "$preset: building the tests of $*"
  mkdir -p build
  { cmake --preset "$preset" "${launcher[@]}" &&
    cmake --build --preset "$preset" --target "${@/%/_test}"; } >"$log" 2>&1 ||
    { tail -n 40 "$log" >&2; return 1; }
  say "$preset: running them"
  ctest --preset "$preset" --no-tests=error --tests-regex "^($(IFS='|'; echo "$*"))_test$" \
    --parallel 2
}

started=$SECONDS status=0
sanitized asan "${rooms[@]}" || status=1
sanitized tsan fabric || status=1
[ "$status" -eq 0 ] && found=nothing || found=something
say "Sanitizers found $found in $((SECONDS - started)) s"
exit "$status"
