#!/usr/bin/env bash
# Installs what is missing, builds the release preset and runs every test: ctest, pytest, then the
# unit tests again under sanitizers.
# Usage: tests/run.sh        (no options; exit status 0 when all tests pass)
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
[ $# -eq 0 ] || { sed -n '2,4p' tests/run.sh >&2; exit 2; }
source scripts/setup.sh

install_packages scripts/debian-packages.txt tests/debian-packages.txt
make_python_environment
build_release

# Both runners run whatever the other says, so that one broken test does not hide another.
status=0
say "ctest: tests of one process"
ctest --preset release --no-tests=error --label-exclude mpi --parallel 2 || status=1
say "ctest: tests under mpirun, one at a time"
ctest --preset release --no-tests=error --label-regex mpi --parallel 1 || status=1
say "pytest: analysis, command line, data preparation, jobs, installation"
THINWIRE="$PWD/$thinwire" PYTHONPATH="$PWD/analysis" \
  "$python" -m pytest -q -p no:cacheprovider --rootdir=. \
  analysis/tests tests/cli tests/prepare tests/peers tests/jobs tests/install || status=1
say "sanitizers"
tests/sanitize.sh || status=1
exit "$status"
