#!/usr/bin/env bash
# The study's all-gather by a third party: SimGrid's SMPI runs smpi_allgather.cpp on P hosts with
# full-duplex links without latency. Writes a JSON line a model, P, rate and size (thinwire.smpi/1).
#
# Usage: experiments/validation/simgrid.sh FILE DEVICES RATES BYTES
#   lists, rates in Mbps, as in: simgrid.sh out.jsonl 2,3 10,100 14,300000
#   Models:
#   cm02      flows at the link's rate; SMPI adds 16 B, an MPI envelope, to a message
#   cm02-tcp  the same, a link giving 1448 of 1514 B to payload (TCP over Ethernet)
#   smpi      SMPI's own default: factors by size, measured on a cluster (0.34 of the rate for 1 kB,
#             0.94 above 64 kB), and 5 % for acknowledgements of the other direction
set -euo pipefail
[ "$#" -eq 4 ] || { sed -n '5,12p' "${BASH_SOURCE[0]}" >&2; exit 2; }
here=$(dirname "${BASH_SOURCE[0]}")
readonly here out=$1 devices=${2//,/ } rates=${3//,/ } sizes=${4//,/ }
command -v smpicxx >/dev/null ||
  { echo "simgrid.sh: smpicxx is missing (Debian: apt-get install libsimgrid-dev)" >&2; exit 1; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
smpicxx -std=c++20 -O1 -o "$folder/smpi_allgather" "$here/smpi_allgather.cpp"
declare -Ar options=(
  [cm02]="--cfg=network/model:CM02 --cfg=network/crosstraffic:0"
  [cm02-tcp]="--cfg=network/model:CM02 --cfg=network/crosstraffic:0
              --cfg=network/bandwidth-factor:0.956406870" # 1448 / 1514
  [smpi]="--cfg=network/model:SMPI"
)

# platform <count> <Mbps>: hosts device0, device1 and so on around a switch
platform() {
  cat <<XML
<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="devices" prefix="device" suffix="" radical="0-$(($1 - 1))" speed="1Gf"
           bw="$2Mbps" lat="0us"/>
</platform>
XML
}

# simulate <model> <count> <Mbps>
simulate() {
  local file="$folder/platform-$2-$3.xml"
  platform "$2" "$3" >"$file"
  seq -f 'device%g' 0 "$(($2 - 1))" >"$folder/hosts-$2"
  # shellcheck disable=SC2086  # options and sizes are lists
  smpirun -np "$2" -platform "$file" -hostfile "$folder/hosts-$2" ${options[$1]} \
    --cfg=smpi/simulate-computation:no --cfg=smpi/wtime:0 --log=root.thresh:error \
    "$folder/smpi_allgather" $sizes |
    awk -v model="$1" -v devices="$2" -v mbps="$3" '{
      printf "{\"schema\": \"thinwire.smpi/1\", \"model\": \"%s\", ", model
      printf "\"devices\": %d, ", devices
      printf "\"rate_bit_per_s\": %.0f, \"bytes\": %d, \"simulated_s\": %s}\n", mbps * 1e6, $1, $2
    }'
}

for count in $devices; do
  for rate in $rates; do
    for model in cm02 cm02-tcp smpi; do simulate "$model" "$count" "$rate"; done
  done
done >"$folder/lines"
mv "$folder/lines" "$out"
