#!/usr/bin/env bash
# Holds the link model and its clocks against a kernel-shaped network (jobs/netns.sh) and against
# SimGrid: all-gathers over payloads, devices and rates, and whole inferences of ViT-B/16 on two
# devices. Installs what is missing, builds, measures, writes table, figure and verdicts under
# results/validation/. Run it on a machine that does nothing else: throttled and kernel-shaped links
# are measured in real time.
#
# Usage: experiments/validation/run.sh [--quick] [--resume] [--realtime]
#   --quick     fewer points and iterations, under results/validation-quick/
#   --resume    keep the parts that an interrupted study has finished
#   --realtime  measure at real-time priority (needs root), where other processes cannot be stopped;
#               they get little of the processors meanwhile
# Exit status: 0 all checks pass, 1 one fails, 2 bad usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/setup.sh
source scripts/options.sh

quick=no resume=no realtime=no
read_options experiments/validation/run.sh "$@"
devices=(2 3 4) rates=(1 10 50 100 200) iterations=7
sizes=(14 58 242 1004 4171 17324 71962 300000) # 107 bits are 14 B
run_rates=10Mbps,100Mbps run_iterations=15
results=results/validation priority=()
if [ "$quick" = yes ]; then
  devices=(2 3) rates=(10 100) iterations=3 run_iterations=3 sizes=(14 1004 17324 300000)
  results=results/validation-quick
fi
[ "$realtime" = no ] || priority=(chrt --rr 1)
readonly devices rates iterations sizes run_rates run_iterations results resume priority
[ "${#priority[@]}" -eq 0 ] || "${priority[@]}" true 2>/dev/null ||
  { echo "error: --realtime: this user may not raise priorities (run as root)" >&2; exit 2; }

# A point may take this long by formula: its iterations end within some 10 s.
readonly longest_s=1.25 warmup=2

# sizes_for <P> <Mbps>: as a list with units
sizes_for() {
  local size
  for size in "${sizes[@]}"; do
    awk -v p="$1" -v mbps="$2" -v size="$size" -v longest="$longest_s" \
      'BEGIN { if ((p - 1) * 8 * size * 1514 / 1448 <= mbps * 1e6 * longest) print size "B" }'
  done | paste -sd,
}

# part <name>: whether this part has to be measured; one that was finished has a mark
part() {
  [ ! -e "$results/$1.done" ] || return 1
  printf '%s, after %d s\n' "$1" "$((SECONDS - started))"
}
finish() { touch "$results/$1.done"; }

# link_check <clock> <P> <Mbps> [command in front]: appends to link-<clock>.jsonl
link_check() {
  local clock=$1 count=$2 mbps=$3
  shift 3
  "${priority[@]}" "$@" "$thinwire" link-check --clock "$clock" --devices "$count" \
    --rate "${mbps}Mbps" \
    --overhead tcp --sizes "$(sizes_for "$count" "$mbps")" --iterations "$iterations" \
    --warmup "$warmup" --json "$results/link-$clock.jsonl" >/dev/null ||
    die "link-check --clock $clock failed for P=$count at $mbps Mbps"
}

measure_links() {
  local count mbps name
  for count in "${devices[@]}"; do
    for mbps in "${rates[@]}"; do
      name=$count-$mbps
      part "link-$name" || continue
      link_check emulated "$count" "$mbps"
      link_check throttled "$count" "$mbps"
      link_check native "$count" "$mbps" jobs/netns.sh --devices "$count" --rate "${mbps}Mbps" \
        --counters "$results/cables-$name.json" --
      finish "link-$name"
    done
  done
}

simulate_links() {
  part smpi || return 0
  local list
  printf -v list '%s,' "${devices[@]}" && local p=${list%,}
  printf -v list '%s,' "${rates[@]}" && local mbps=${list%,}
  printf -v list '%s,' "${sizes[@]}" && local bytes=${list%,}
  experiments/validation/simgrid.sh "$results/smpi.jsonl" "$p" "$mbps" "$bytes" ||
    die "SimGrid failed"
  finish smpi
}

# run_model <strategy> <options...>: ViT-B/16 on two devices with a thread each, so that both may
# compute at once; the emulated clock charges every device the time of one thread as well.
run_model() {
  local strategy=$1 mbps
  shift
  local run=("${priority[@]}" "$thinwire" run --strategy "$strategy" "$@" --devices 2 --threads 1
    --overhead tcp --warmup 2 --iterations "$run_iterations")
  part "run-$strategy" || return 0
  for mbps in ${run_rates//,/ }; do
    "${run[@]}" --clock emulated --rate "$mbps" --json "$results/runs-emulated.jsonl" >/dev/null ||
      die "the emulated run of $strategy failed"
    "${priority[@]}" jobs/netns.sh --devices 2 --rate "$mbps" -- \
      "${run[@]}" --clock native --rate "$mbps" --json "$results/runs-native.jsonl" >/dev/null ||
      die "the native run of $strategy failed"
  done
  finish "run-$strategy"
}

install_packages scripts/debian-packages.txt experiments/validation/debian-packages.txt
make_python_environment
build_release

mkdir -p "$results"
[ "$resume" = yes ] || rm -f "$results"/*.jsonl "$results"/*.json "$results"/*.done
started=$SECONDS
say "All-gathers: emulated, throttled, kernel-shaped"
measure_links
say "All-gathers by SimGrid"
simulate_links
say "ViT-B/16 on two devices: emulated beside kernel-shaped"
run_model voltage
run_model prism --segments 10
run_model trace-b
say "Table and figure in $results/ ($((SECONDS - started)) s)"
PYTHONPATH=analysis "$python" -m thinwire_analysis validation --results "$results" --out "$results"
