#!/usr/bin/env bash
# A sweep of one model over devices (P) and compression rates (CR) in one mpirun.
# Started again, it skips the points that the result file already has.
#
# Usage: jobs/sweep.sh     after building; options below, or in the environment
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

model=${MODEL:-vit-base-16}              # a preset, or a Hugging Face folder
devices=${DEVICES:-2,3,4,6}              # P
compression_rates=${COMPRESSION_RATES:-2,4,6,8,10}
rates=${RATES:-10Mbps,100Mbps,200Mbps,500Mbps,1000Mbps}   # link settings of every point
topology=${TOPOLOGY:-unicast}            # broadcast, unicast or shared
threads=${THREADS:-2}                    # of one device
iterations=${ITERATIONS:-15}
clock=${CLOCK:-emulated}                 # devices take turns, so the cores may be fewer than P
name=sweep-$(basename "$model")
result=${RESULT:-results/$name.jsonl}
thinwire=${THINWIRE:-build/release/src/cli/thinwire}
mpirun=${MPIRUN:-mpirun --oversubscribe --bind-to none}   # add --hostfile FILE for several nodes

[ -x "$thinwire" ] || { echo "error: no $thinwire; build it or set THINWIRE" >&2; exit 2; }
mkdir -p "$(dirname "$result")"
largest=$(tr , '\n' <<<"$devices" | sort -n | tail -1)
document=${result%.jsonl}.sweep.json

# The single device and Voltage are explicit points: they know no compression rate.
cat >"$document" <<JSON
{
  "name": "$name",
  "base": {
    "model": "$model", "threads": $threads, "topology": "$topology", "rate": "$rates",
    "clock": "$clock", "iterations": $iterations, "warmup": 2
  },
  "matrix": {
    "strategy": ["prism"], "devices": [$devices], "compression-rate": [$compression_rates]
  },
  "points": [
    {"strategy": "single", "devices": 1},
    $(tr , '\n' <<<"$devices" | sed 's/.*/{"strategy": "voltage", "devices": &}/' | paste -sd, -)
  ]
}
JSON

# Open MPI refuses to start as root unless told otherwise, which is how containers run.
if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
# shellcheck disable=SC2086  # $mpirun is a command with options
exec $mpirun -n "$largest" "$thinwire" sweep "$document" --json "$result"
