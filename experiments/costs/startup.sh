#!/usr/bin/env bash
# How long `thinwire run` takes for all but its pass: from its start to its end, with weights that
# are generated and with weights that are loaded from a folder, for one device, two and ten. What
# mpirun alone takes for a program that only initialises MPI is printed beside it. Let the machine do
# nothing else.
#
# Usage: experiments/costs/startup.sh [--model PRESET] [--folder DIR] [--devices 1,2,10]
#                                     [--rounds N] [--json FILE]
# Without --folder: one of vit-base-16's size is made in a temporary place (346 MB).
# Settings: THINWIRE, the program; else it is built.
# Exit status: 0 within 1.5 s on one device and on two, 1 not, or a run failed, 2 bad usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/build-program.sh
build_program THINWIRE thinwire src/cli/thinwire
[ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
exec python3 experiments/costs/startup.py --thinwire "$THINWIRE" "$@"
