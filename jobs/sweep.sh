#!/usr/bin/env bash
# A sweep of one model over devices (P) and compression rates (CR) in one mpirun.
# Started again, it skips the points that the result file already has.
#
# Usage: jobs/sweep.sh     after building; settings.sh, or the environment, says what is swept.
# MPIRUN, here or in the environment, is the launcher: add --hostfile FILE for several nodes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source jobs/settings.sh
mpirun=${MPIRUN:-mpirun --oversubscribe --bind-to none}

[ -x "$thinwire" ] || { echo "error: no $thinwire; build it or set THINWIRE" >&2; exit 2; }
case $baselines in
  with | without | only) ;;
  *) echo "error: BASELINES=$baselines: with, without or only is needed" >&2 && exit 2 ;;
esac
mkdir -p "$(dirname "$result")"
document=${result%.jsonl}.sweep.json

# The single device and Voltage are explicit points: they know no compression rate.
points() {
  [ "$baselines" = without ] && return
  printf '{"strategy": "single", "devices": 1}'
  tr , '\n' <<<"$devices" |
    sed 's/.*/{"strategy": "voltage", "devices": &}/' | while read -r point; do
    printf ',\n    %s' "$point"
  done
}

matrix() {
  [ "$baselines" = only ] && return
  printf '"strategy": ["prism"], "devices": [%s], "compression-rate": [%s]' \
    "$devices" "$compression_rates"
}

link=""
[ "$rates" = - ] || link="\"rate\": \"$rates\", \"topology\": \"$topology\","
cat >"$document" <<JSON
{
  "name": "$name",
  "base": {
    "model": "$model", "threads": $threads, $link
    "clock": "$clock", "iterations": $iterations, "warmup": $warmup
  },
  "matrix": {
    $(matrix)
  },
  "points": [
    $(points)
  ]
}
JSON

# Open MPI refuses to start as root unless told otherwise, which is how containers run.
if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
# shellcheck disable=SC2086  # $mpirun is a command with options
exec $mpirun -n "$(largest_devices)" "$thinwire" sweep "$document" --json "$result"
