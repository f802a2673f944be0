#!/usr/bin/env bash
# A third party's MPI benchmark under libthinwire_link.so: its all-gather of B bytes a rank beside
# (P - 1) * B * 8 / rate, for messages above 64 kB. Fails when a median of three runs is off by more
# than 5 %.
# Usage: experiments/validation/link_shim.sh BENCHMARK [RANKS [RATES_MBPS]]   ("2 3 4" "10 100 1000")
#   BENCHMARK  osu_allgather (OSU micro-benchmarks) or IMB-MPI1 (Intel MPI Benchmarks)
#   PREFIX     put before BENCHMARK; on a busy machine PREFIX="chrt -f 1" keeps others' work out
# Examples:
#   experiments/validation/link_shim.sh ~/osu/mpi/collective/osu_allgather
#   PREFIX="chrt -f 1" experiments/validation/link_shim.sh ~/mpi-benchmarks/IMB-MPI1 "2 4" 100
set -euo pipefail
fail() {
  echo "$1" >&2
  exit 2
}
if [ $# = 0 ] || [ "$1" = --help ]; then
  sed -n '2,10s/^# \{0,1\}//p' "$0"
  exit $(($# == 0 ? 2 : 0))
fi
benchmark=$(realpath "$1") ranks=${2:-2 3 4} rates=${3:-10 100 1000}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
library=$PWD/build/release/src/link_shim/libthinwire_link.so
[ -x "$benchmark" ] || fail "$benchmark is no program: give the path of osu_allgather or IMB-MPI1"
[ -e "$library" ] || fail "$library is missing: cmake --preset release && cmake --build --preset release"
for number in $ranks $rates; do
  [[ $number =~ ^[1-9][0-9]*$ ]] || fail "RANKS and RATES_MBPS are whole numbers, not '$number'"
done
[ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

rounds=3 smallest=16 largest=19 # 64 KiB = 65,536 B to 512 KiB, as powers of two
case $(basename "$benchmark") in
  IMB-MPI1*) benchmark_name=imb ;;
  *allgather*) benchmark_name=osu ;;
  *) fail "$benchmark is neither osu_allgather nor IMB-MPI1" ;;
esac

# measure RANKS RATE_MBPS ITERATIONS: prints "bytes microseconds" lines, the average over the ranks.
measure() {
  local arguments
  if [ $benchmark_name = imb ]; then
    arguments=(Allgather -npmin "$1" -msglog "$smallest:$largest" -iter "$3" -iter_policy off -time 1000)
  else
    arguments=(-m "$((1 << smallest)):$((1 << largest))" -i "$3" -x 2)
  fi
  # shellcheck disable=SC2086 # PREFIX is several words
  timeout 600 mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n "$1" \
    -x LD_PRELOAD="$library" -x THINWIRE_RATE="$2Mbps" -x THINWIRE_LATENCY=0 \
    -x THINWIRE_TOPOLOGY=unicast ${PREFIX:-} "$benchmark" "${arguments[@]}" |
    awk -v least="$((1 << smallest))" '$1 ~ /^[0-9]+$/ && $1 >= least { print $1, $NF }'
}

echo "| ranks | rate | bytes | formula | measured | off by | |"
echo "| --- | --- | --- | --- | --- | --- | --- |"
status=0
for count in $ranks; do
  for rate in $rates; do
    # As many iterations as fit into about 2 s at the largest size.
    iterations=$(awk -v p="$count" -v r="$rate" -v b="$((1 << largest))" \
      'BEGIN { n = int(2e6 / ((p - 1) * b * 8 / r)); print (n < 3 ? 3 : n > 100 ? 100 : n) }')
    echo "$count ranks at $rate Mbps: $rounds runs" >&2
    for ((round = 0; round < rounds; ++round)); do measure "$count" "$rate" "$iterations"; done |
      sort -n -k1,1 -k2,2 | awk -v p="$count" -v r="$rate" -v rounds=$rounds '
        { time[$1, ++runs[$1]] = $2; if (runs[$1] == 1) sizes[++kinds] = $1 }
        END {
          if (kinds == 0) { print "no times in the output of the benchmark" > "/dev/stderr"; exit 2 }
          for (i = 1; i <= kinds; ++i) {
            bytes = sizes[i]; formula = (p - 1) * bytes * 8 / r
            measured = time[bytes, int((runs[bytes] + 1) / 2)]; off = measured / formula - 1
            good = runs[bytes] == rounds && off <= 0.05 && off >= -0.05; bad += !good
            printf "| %d | %d Mbps | %d | %.3f ms | %.3f ms | %+.2f %% | %s |\n", p, r, bytes,
                   formula / 1e3, measured / 1e3, 100 * off, good ? "PASS" : "FAIL"
          }
          exit bad > 0
        }' || status=$?
    [ $status -lt 2 ] || exit $status
  done
done
exit $status
