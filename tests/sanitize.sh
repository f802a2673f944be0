#!/usr/bin/env bash
# The unit tests of one process under the address and undefined-behaviour sanitizers, and the
# in-process fabric, its threads and its clocks, under the thread sanitizer.
#
# Usage: tests/sanitize.sh        (no options; exit status 0 when nothing is found)
#
# Left out: tests under mpirun (Open MPI itself leaks and is not built for sanitizers), and under
# the thread sanitizer whatever computes: libgomp, which joins OpenMP's threads, is not built for
# it, so that every parallel loop would be reported.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
[ $# -eq 0 ] || { sed -n '5p' tests/sanitize.sh >&2; exit 2; }
source scripts/setup.sh

readonly address_tests=(base_test tensor_test ops_test model_test compress_test fabric_test
  cost_test strategy_test eval_test harness_test)
readonly thread_tests=(fabric_test)

# sanitized <preset> <ctest filter> <targets>
sanitized() {
  local preset=$1 filter=$2 launcher=()
  shift 2
  command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  say "$preset: building $*"
  cmake --preset "$preset" "${launcher[@]}" >/dev/null || return 1
  cmake --build --preset "$preset" --target "$@" >/dev/null || return 1
  say "$preset: running"
  ctest --preset "$preset" --no-tests=error --tests-regex "$filter" --parallel 2
}

started=$SECONDS status=0
sanitized asan '^(base|tensor|ops|model|compress|fabric|cost|strategy|eval|harness)_test$' \
  "${address_tests[@]}" || status=1
sanitized tsan '^fabric_test$' "${thread_tests[@]}" || status=1
say "sanitizers: $((SECONDS - started)) s, $([ $status -eq 0 ] && echo nothing found || echo FAILED)"
exit "$status"
