#!/usr/bin/env bash
# Submits a script of this folder with the partition, account and time of site.sh and the size that
# settings.sh asks for; #SBATCH lines can read neither.
#
# Usage: jobs/submit.sh SCRIPT [OPTION OF SBATCH]...
# Examples: jobs/submit.sh jobs/emulated.sbatch
#           DEVICES=2,4 PARTITION=short jobs/submit.sh jobs/native.sbatch --dependency=singleton
set -euo pipefail
usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; }
case "${1:-}" in
  -h | --help) usage && exit ;;
  '' | -*) usage >&2 && exit 2 ;;
esac
script=$(realpath -- "$1")
shift
[ -f "$script" ] || { echo "submit.sh: $script: no such script" >&2; exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source jobs/site.sh
source jobs/settings.sh

count() { tr , '\n' <<<"$1" | wc -l; }

options=(--time="$time_limit" --signal="B:USR1@$grace_s")
[ -z "$partition" ] || options+=(--partition="$partition")
[ -z "$account" ] || options+=(--account="$account")
[ "$exclusive" != yes ] || options+=(--exclusive)
case $(basename "$script") in
  native.sbatch) options+=(--nodes="$(largest_devices)") ;;
  array.sbatch) options+=(--array="0-$(($(count "$devices") * $(count "$compression_rates")))") ;;
esac
mkdir -p results # for the logs: Slurm opens them before a script runs
exec sbatch "${options[@]}" "$@" "$script"
