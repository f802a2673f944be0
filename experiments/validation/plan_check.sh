#!/usr/bin/env bash
# Holds `thinwire plan` against emulated runs: takes the rate of a device from runs of the single
# device, plans over several link rates and numbers of devices, runs the first candidates emulated,
# and says whether the plan's order holds and how far its latencies are off.
# Usage: experiments/validation/plan_check.sh [MODEL]   (vit-base-16; a preset or a folder)
# Settings: RATES, DEVICES, THREADS, TOP (candidates a plan), ITERATIONS, PROFILE (a file of
# `thinwire calibrate`: rates by rows instead of one rate).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[ -x build/venv/bin/python ] && python=build/venv/bin/python || python=python3
exec "$python" experiments/validation/plan_check.py "${1:-vit-base-16}" \
  --rates ${RATES:-5Mbps 20Mbps 100Mbps 500Mbps} --devices ${DEVICES:-2 3} \
  --threads "${THREADS:-1}" --top "${TOP:-3}" --iterations "${ITERATIONS:-10}" \
  ${PROFILE:+--profile "$PROFILE"}
