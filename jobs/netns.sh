#!/usr/bin/env bash
# Runs an MPI program on P devices, each in a network namespace of its own; a bridge joins them.
# Both ends of every device's cable are shaped by the kernel (tc tbf): its own end is the
# transmitter, the bridge's end the receiver's port. One rank a device, over TCP.
#
# Usage: jobs/netns.sh --devices P [options] -- COMMAND [ARGUMENT...]
#   --devices P        namespaces and ranks, 2 to 64
#   --rate RATE        of every cable, in each direction: 10Mbps, 2.5Gbps, 500kbps, or one a device,
#                      10Mbps:10Mbps:1Mbps; unlimited: not shaped        (default: unlimited)
#   --mtu BYTES        largest IP packet, 576 to 9000                    (default: 1500)
#   --burst BYTES      how much an idle cable passes at once: one frame (MTU + 14), which the kernel
#                      needs, and what the rate brings in 100 us, by which timers may be late
#   --eager BYTES      Open MPI sends messages up to this size at once; longer ones ask first, which
#                      costs a round trip. Its own default is 65536       (default: 1048576)
#   --counters FILE    what each cable carried, as JSON, besides the table on stderr
#   --help
#
# Example: jobs/netns.sh --devices 2 --rate 10Mbps -- \
#              thinwire run --clock native --devices 2 --strategy prism --segments 10 --threads 1
#
# Everything lives in namespaces that end with this script, however it ends: nothing is left behind
# and copies can run side by side. Root is not needed where the kernel lets users make namespaces.
# mpirun itself sits at the bridge and talks to its daemons over cables that are not shaped.
# Exit status: the command's; 1 if a frame was dropped; 2 for bad usage.
set -euo pipefail

readonly data_network=10.77.1 control_network=10.77.2
readonly timer_slack_us=100
readonly window_segments=1000
readonly queue_bytes=$((256 << 20)) # more than all sockets together may hold

fail() {
  printf 'netns.sh: %s\n' "$1" >&2
  exit "${2:-2}"
}

usage() { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; }

# bits_per_second <rate>: an integer, or nothing for "unlimited"
bits_per_second() {
  local number unit
  [ "$1" != unlimited ] || return 0
  [[ "$1" =~ ^([0-9]+(\.[0-9]+)?)([kMG]?)bps$ ]] ||
    fail "--rate $1: a number and bps, kbps, Mbps or Gbps is needed, such as 10Mbps, or unlimited"
  number=${BASH_REMATCH[1]}
  case "${BASH_REMATCH[3]}" in k) unit=1e3 ;; M) unit=1e6 ;; G) unit=1e9 ;; *) unit=1 ;; esac
  awk -v n="$number" -v u="$unit" 'BEGIN { printf "%.0f", n * u }'
}

# check_integer <option> <value> <least> <most>
check_integer() {
  if ! [[ "$2" =~ ^[0-9]{1,10}$ ]] || [ "$2" -lt "$3" ] || [ "$2" -gt "$4" ]; then
    fail "$1 $2: a whole number from $3 to $4 is needed"
  fi
}

parse() {
  devices="" rate=unlimited mtu=1500 burst="" eager=1048576 counters=""
  while [ "$#" -gt 0 ]; do
    case "$1" in
      --help) usage && exit 0 ;;
      --) shift && break ;;
      --devices | --rate | --mtu | --burst | --eager | --counters)
        [ "$#" -ge 2 ] || fail "$1: a value is missing"
        printf -v "${1#--}" '%s' "$2"
        shift 2
        ;;
      *) fail "$1: not an option of this script (--help lists them; the command goes behind --)" ;;
    esac
  done
  command=("$@")
  [ -n "$devices" ] || fail "--devices is missing: how many namespaces?"
  check_integer --devices "$devices" 2 64
  check_integer --mtu "$mtu" 576 9000
  check_integer --eager "$eager" 256 1073741824
  [ -z "$burst" ] || check_integer --burst "$burst" $((mtu + 14)) $((16 << 20))
  [ "${#command[@]}" -gt 0 ] || fail "the command is missing: netns.sh ... -- COMMAND"
  command -v "${command[0]}" >/dev/null || fail "${command[0]}: no such command"
  IFS=: read -r -a rates <<<"$rate"
  [ "${#rates[@]}" -eq 1 ] || [ "${#rates[@]}" -eq "$devices" ] ||
    fail "--rate $rate: ${#rates[@]} values for $devices devices: give one for all or one a device"
  local device
  for ((device = 0; device < devices; ++device)); do
    rates[device]=${rates[device]:-${rates[0]}}
    bits[device]=$(bits_per_second "${rates[device]}")
    [ "${bits[device]:-8000}" -ge 8000 ] || fail "--rate ${rates[device]}: at least 8kbps is needed"
  done
}

check_tools() {
  local tool
  for tool in awk ethtool ip mpirun nsenter tc unshare; do
    command -v "$tool" >/dev/null ||
      fail "$tool is missing (Debian: apt-get install ethtool iproute2 openmpi-bin util-linux)" 1
  done
}

# on <device> <command...>: in the device's network
on() {
  local device=$1
  shift
  nsenter --net="/run/netns/device$device" -- "$@"
}

burst_of() { # <device>
  if [ -z "${bits[$1]}" ]; then
    printf null
  elif [ -n "$burst" ]; then
    printf '%s' "$burst"
  else
    printf '%s' $((mtu + 14 + bits[$1] * timer_slack_us / 8000000))
  fi
}

mac_of() { printf '02:00:00:00:00:%02x' "$1"; } # <device>

# plug <device> <name> <network> <switch>: a cable from the device to the switch
plug() {
  local device=$1 name=$2 network=$3 switch=$4 other
  ip link add "$name$device" type veth peer name "$name" netns "device$device"
  ip link set dev "$name$device" mtu "$mtu" master "$switch" up
  # The peers' addresses are set, so that nothing but the program's own traffic crosses the cable.
  on "$device" ip link set dev "$name" mtu "$mtu" address "$(mac_of "$device")" up
  on "$device" ip address add "$network.$((device + 1))/24" dev "$name"
  # Open windows: the cable is what limits a connection, from its first message on.
  on "$device" ip route change "$network.0/24" dev "$name" src "$network.$((device + 1))" \
    initcwnd "$window_segments" initrwnd "$window_segments"
  for ((other = 0; other < devices; ++other)); do
    [ "$other" -eq "$device" ] || on "$device" ip neighbour add "$network.$((other + 1))" \
      lladdr "$(mac_of "$other")" dev "$name"
  done
}

# whole_frames <ethtool command...> <interface>: what is counted and shaped are frames as on a cable
whole_frames() {
  local interface=${*: -1}
  "${@:1:$#-1}" ethtool -K "$interface" tso off gso off gro off tx off rx off >/dev/null
  "${@:1:$#-1}" ip link set dev "$interface" gso_max_segs 1
}

shape() { # <device>
  local device=$1
  whole_frames on "$device" cable
  whole_frames command "cable$device"
  [ -n "${bits[device]}" ] || return 0
  local tbf=(tbf rate "${bits[device]}bit" burst "$(burst_of "$device")" limit "$queue_bytes")
  on "$device" tc qdisc add dev cable root "${tbf[@]}"
  tc qdisc add dev "cable$device" root "${tbf[@]}"
}

build_network() {
  local device switch
  mount -t tmpfs tmpfs /run # `ip netns` keeps its names there: private to this script
  ip link set lo up
  set_or_go_on net/ipv6/conf/default/disable_ipv6 1 # nobody shall announce himself on a cable
  for switch in switch control; do
    ip link add "$switch" type bridge mcast_snooping 0
    ip link set dev "$switch" mtu "$mtu" up
  done
  ip address add "$control_network.254/24" dev control
  for ((device = 0; device < devices; ++device)); do
    ip netns add "device$device"
    on "$device" ip link set lo up
    set_or_go_on net/ipv6/conf/default/disable_ipv6 1 on "$device"
    # A pause between exchanges does not make TCP probe anew how much the link takes.
    set_or_go_on net/ipv4/tcp_slow_start_after_idle 0 on "$device"
    # Two frames a connection wait at the cable, as before a network card; the rest stays in the
    # socket. Otherwise acknowledgements queue behind whole messages, and connections starve.
    set_or_go_on net/ipv4/tcp_limit_output_bytes $((4 * mtu)) on "$device"
    plug "$device" cable "$data_network" switch
    plug "$device" mpi "$control_network" control
    shape "$device"
  done
}

# set_or_go_on <setting> <value> [on <device>]: a container may forbid it, which costs little
set_or_go_on() { "${@:3}" sh -c "echo $2 >/proc/sys/$1" 2>/dev/null || true; }

# Open MPI's launch agent: netns.sh --enter <host> <command>; the host's name ends in the device.
# A host name of its own makes Open MPI take each device for another node.
enter() {
  local host=$1 device=${1##*-} on_cores=()
  shift
  choose_cores "$device"
  # shellcheck disable=SC2016  # the inner shell's own parameters
  exec nsenter --net="/run/netns/device$device" -- unshare --uts -- \
    "${on_cores[@]}" sh -c 'hostname "$0" && exec sh -c "$1"' "$host" "$*"
}

# Where the cores suffice, each device has its own.
choose_cores() { # <device>
  local cores=() share
  mapfile -t cores < <(allowed_cores)
  share=$((${#cores[@]} / NETNS_DEVICES))
  [ "$share" -eq 0 ] || on_cores=(taskset -c "$(IFS=, && echo "${cores[*]:$1 * share:share}")")
}

allowed_cores() {
  local range
  awk '/^Cpus_allowed_list/ { gsub(",", "\n", $2); print $2 }' /proc/self/status |
    while read -r range; do seq "${range%-*}" "${range#*-}"; done
}

describe() {
  local device
  {
    printf 'netns: %s devices, MTU %s, cables' "$devices" "$mtu"
    for ((device = 0; device < devices; ++device)); do
      printf ' %s' "${rates[device]}"
      [ -z "${bits[device]}" ] || printf ' (burst %s B)' "$(burst_of "$device")"
    done
    printf '\nnetns: Open MPI over TCP, btl_tcp_eager_limit = btl_tcp_rndv_eager_limit = %s\n' \
      "$eager"
  } >&2
}

start_ranks() {
  local hosts="" device
  for ((device = 0; device < devices; ++device)); do
    hosts+="${hosts:+,}$NETNS_NAME-$device:1"
  done
  export NETNS_DEVICES=$devices OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  mpirun -n "$devices" --host "$hosts" --bind-to none \
    --mca plm rsh --mca plm_rsh_agent "$self --enter" --mca plm_rsh_no_tree_spawn 1 \
    --mca orte_tmpdir_base "$NETNS_SCRATCH" --mca oob_tcp_if_include "$control_network.0/24" \
    --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include "$data_network.0/24" \
    --mca btl_tcp_eager_limit "$eager" --mca btl_tcp_rndv_eager_limit "$eager" \
    "${command[@]}" <&0 &
  mpirun=$!
  trap 'kill -TERM "$mpirun" 2>/dev/null' TERM INT HUP
  local status=0
  wait "$mpirun" || status=$?
  while kill -0 "$mpirun" 2>/dev/null; do # a signal ended the wait, not mpirun
    status=0
    wait "$mpirun" || status=$?
  done
  return "$status"
}

# One line a device: bytes, frames sent, bytes, frames received, frames that its shapers dropped.
carried() {
  local device
  for ((device = 0; device < devices; ++device)); do
    {
      on "$device" cat /proc/net/dev
      on "$device" tc -s qdisc show dev cable
      tc -s qdisc show dev "cable$device"
    } | awk '$1 == "cable:" { line = $10 " " $11 " " $2 " " $3 }
             match($0, /dropped [0-9]+/) { dropped += substr($0, RSTART + 8, RLENGTH - 8) }
             END { print line, dropped + 0 }'
  done
}

# One JSON object; an unlimited cable has neither rate nor burst.
write_counters() { # <lines of carried>
  local device
  for ((device = 0; device < devices; ++device)); do
    printf '%s %s\n' "${bits[device]:-null}" "$(burst_of "$device")"
  done | paste -d ' ' - <(printf '%s\n' "$1") | awk -v mtu="$mtu" -v eager="$eager" '
    BEGIN {
      printf "{\"schema\": \"thinwire.netns/1\", \"mtu_bytes\": %d, ", mtu
      printf "\"eager_limit_bytes\": %d, \"devices\": [", eager
    }
    {
      printf "%s{\"rate_bit_per_s\": %s, \"burst_bytes\": %s, ", (NR > 1 ? ", " : ""), $1, $2
      printf "\"sent_bytes\": %.0f, \"sent_frames\": %.0f, ", $3, $4
      printf "\"received_bytes\": %.0f, \"received_frames\": %.0f, ", $5, $6
      printf "\"dropped_frames\": %.0f}", $7
    }
    END { print "]}" }' >"$counters"
}

report() {
  local lines
  lines=$(carried)
  awk '{ printf "netns: device %d sent %.0f B in %.0f frames, ", NR - 1, $1, $2
         printf "received %.0f B in %.0f frames, dropped %.0f\n", $3, $4, $5 }' <<<"$lines" >&2
  [ -z "$counters" ] || write_counters "$lines"
  awk '{ dropped += $5 } END { exit dropped > 0 }' <<<"$lines" ||
    fail "the shapers dropped frames: the measurement does not count" 1
}

inside() {
  parse "$@"
  build_network
  describe
  local status=0
  start_ranks || status=$?
  report
  exit "$status"
}

# Ends the namespaces' first process, and with it all others; mpirun first gets 5 s to tidy up.
stop() {
  local first i
  first=$(cat "/proc/$child/task/$child/children" 2>/dev/null) || true
  # shellcheck disable=SC2086  # none or one
  [ -z "$first" ] || kill -TERM $first 2>/dev/null || true
  for ((i = 0; i < 50; ++i)); do
    kill -0 "$child" 2>/dev/null || return 0
    sleep 0.1
  done
  kill -KILL "$child" 2>/dev/null || true
}

outside() {
  parse "$@"
  check_tools
  local as_root=() status=0
  [ "$(id -u)" -eq 0 ] || as_root=(--user --map-root-user)
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  unshare "${as_root[@]}" --net --mount --uts --pid --fork --kill-child -- true 2>/dev/null ||
    fail "no network namespaces for $(id -un): run as root (in a container: with CAP_SYS_ADMIN)" 1
  NETNS_NAME="thinwire$$" NETNS_SCRATCH=$scratch unshare "${as_root[@]}" \
    --net --mount --uts --pid --fork --kill-child -- "$self" --inside "$@" <&0 &
  child=$!
  trap 'stop; exit 143' TERM
  trap 'stop; exit 130' INT
  trap 'stop; exit 129' HUP
  wait "$child" || status=$?
  exit "$status"
}

self=$(realpath "${BASH_SOURCE[0]}")
readonly self
declare -a command rates bits
case "${1:-}" in
  --enter) enter "${@:2}" ;;
  --inside) inside "${@:2}" ;;
  *) outside "$@" ;;
esac
