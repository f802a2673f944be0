#!/usr/bin/env bash
# A small Slurm on this machine, to submit the scripts of this folder for real: munge, slurmctld
# and one slurmd a node, from Debian's packages, as root or as an ordinary user. Keys, sockets, logs
# and the generated slurm.conf are in a folder of its own; no configuration of the system is touched.
#
# Usage: jobs/local-slurm.sh up [NODES]           start it, 1 node by default (prints SLURM_CONF)
#        jobs/local-slurm.sh status               what runs
#        jobs/local-slurm.sh run SCRIPT [OPTION]  jobs/submit.sh SCRIPT OPTION..., wait, show the log
#        jobs/local-slurm.sh down                 cancel its jobs and end what `up` started
#
# Example: eval "$(jobs/local-slurm.sh up)"; jobs/submit.sh jobs/emulated.sbatch; squeue
#
# THINWIRE_SLURM_DIR   its folder (build/local-slurm); a second one is a second, independent Slurm
# THINWIRE_SLURM_CPUS  CPUs that a node pretends to have (8), whatever the machine has
set -euo pipefail
jobs=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly jobs
mkdir -p "${THINWIRE_SLURM_DIR:=$jobs/../build/local-slurm}"
state=$(cd "$THINWIRE_SLURM_DIR" && pwd)
readonly state
readonly socket="$state/munge/socket"
export SLURM_CONF="$state/slurm.conf"
PATH=$PATH:/usr/sbin # slurmctld, slurmd and munged, for ordinary users too

die() {
  printf 'local-slurm.sh: %s\n' "$1" >&2
  exit "${2:-1}"
}

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; }

require_programs() {
  local program
  for program in munged slurmctld slurmd sbatch srun; do
    command -v "$program" >/dev/null ||
      die "no $program; on Debian: apt-get install --no-install-recommends slurm-wlm munge" 2
  done
  # The kernel takes 107 bytes; munged adds ".lock" beside the socket.
  [ ${#socket} -le 100 ] || die "THINWIRE_SLURM_DIR=$state: too long a path for a socket" 2
}

# The process of a pid file, if it is still the program that wrote it: numbers are reused. A
# zombie, which a container without an init may never reap, has ended.
running() { # PIDFILE PROGRAM
  local pid name condition
  pid=$(cat "$1" 2>/dev/null) || return
  read -r _ name condition _ 2>/dev/null <"/proc/$pid/stat" || return
  [ "$name" = "($2)" ] && [ "$condition" != Z ] && printf '%s\n' "$pid"
}

# Prints "PROGRAM PIDFILE" of every daemon, in the order in which they end.
daemons() {
  local file
  for file in "$state"/slurmd-*.pid; do [ -e "$file" ] && printf 'slurmd %s\n' "$file"; done
  printf 'slurmctld %s\nmunged %s\n' "$state/slurmctld.pid" "$state/munge/munged.pid"
}

is_up() { running "$state/slurmctld.pid" slurmctld >/dev/null; }

wait_for() { # SECONDS COMMAND...
  local tries=$(($1 * 10))
  shift
  until "$@"; do
    [ $((tries -= 1)) -gt 0 ] || return 1
    sleep 0.1
  done
}

# As many TCP ports as asked for that nobody uses now; bound together, so that they differ.
free_ports() {
  python3 - "$1" <<'PYTHON'
import socket, sys
sockets = [socket.socket() for _ in range(int(sys.argv[1]))]
for one in sockets:
    one.bind(("127.0.0.1", 0))
print(*(one.getsockname()[1] for one in sockets))
PYTHON
}

# The cgroup plugins are not loaded: containers often have none. Credentials are short-lived, since
# a requeued job waits until its old one has expired.
write_configuration() { # NODES
  local ports i user
  read -ra ports < <(free_ports $(($1 + 1)))
  user=$(id -un)
  mkdir -p "$state"/{munge,spool,state}
  {
    cat <<CONF
ClusterName=thinwire-local
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$socket,cred_expire=5
CredType=cred/munge
SlurmctldPidFile=$state/slurmctld.pid
SlurmctldLogFile=$state/slurmctld.log
SlurmdPidFile=$state/slurmd-%n.pid
SlurmdLogFile=$state/slurmd-%n.log
SlurmdSpoolDir=$state/spool/%n
TmpFS=$state/spool/%n
StateSaveLocation=$state/state
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=2,sched_min_interval=0,bf_interval=2
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
KillWait=5
UnkillableStepTimeout=30
CONF
    for ((i = 1; i <= $1; i++)); do
      printf 'NodeName=node%d NodeAddr=127.0.0.1 NodeHostname=%s Port=%d CPUs=%d State=UNKNOWN\n' \
        "$i" "$(hostname -s)" "${ports[i]}" "${THINWIRE_SLURM_CPUS:-8}"
      mkdir -p "$state/spool/node$i"
    done
    printf 'PartitionName=local Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO\n'
  } >"$SLURM_CONF"
}

start_munge() {
  # --force: a warning instead of a refusal where a folder above, such as /tmp, is for everybody.
  (umask 077 && head -c 128 /dev/urandom >"$state/munge/key")
  chmod 0711 "$state/munge"
  munged --force --key-file="$state/munge/key" --socket="$socket" \
    --pid-file="$state/munge/munged.pid" --log-file="$state/munge/munged.log" \
    --seed-file="$state/munge/seed" 2>>"$state/munge/munged.log" ||
    die "munged did not start; see $state/munge/munged.log"
}

nodes_are_idle() { # NODES
  [ "$(sinfo --noheader --Node --states=idle --format=%N 2>/dev/null | wc -l)" -eq "$1" ]
}

up() {
  local nodes=${1:-1} i
  [[ $nodes =~ ^[1-9][0-9]?$ ]] || die "up $nodes: a number of nodes from 1 to 99 is needed" 2
  require_programs
  is_up && die "it is up already: $state (jobs/local-slurm.sh down ends it)"
  rm -rf "$state"/{munge,spool,state,run.*} "$state"/*.{pid,log}
  write_configuration "$nodes"
  trap 'down >&2' ERR EXIT # half a Slurm is of no use
  start_munge
  slurmctld -c || die "slurmctld did not start; see $state/slurmctld.log"
  for ((i = 1; i <= nodes; i++)); do
    slurmd -N "node$i" || die "slurmd did not start; see $state/slurmd-node$i.log"
  done
  wait_for 30 nodes_are_idle "$nodes" || die "the nodes did not come up; see $state/*.log"
  trap - ERR EXIT
  printf 'export SLURM_CONF=%q\n' "$SLURM_CONF"
}

no_jobs() { [ -z "$(squeue --noheader 2>/dev/null)" ]; }

ended() { ! running "$1" "$2" >/dev/null; }

down() {
  local program file pid
  if is_up; then
    squeue --noheader --format=%A | sort -u | xargs -r scancel
    wait_for 20 no_jobs || echo "local-slurm.sh: jobs were still ending" >&2
  fi
  while read -r program file; do
    pid=$(running "$file" "$program") || continue
    kill "$pid"
    wait_for 10 ended "$file" "$program" || kill -KILL "$pid"
    rm -f "$file"
  done < <(daemons)
}

status() {
  local program file pid
  while read -r program file; do
    if pid=$(running "$file" "$program"); then
      printf '%-10s %s\n' "$program" "pid $pid"
    else
      printf '%-10s %s\n' "$program" "not running"
    fi
  done < <(daemons)
  is_up || return 1
  sinfo
  squeue
  printf 'export SLURM_CONF=%q\n' "$SLURM_CONF"
}

# The logs follow on stdout; the exit status is the job's.
run() {
  [ $# -ge 1 ] || die "run: a script is needed, for instance jobs/emulated.sbatch" 2
  is_up || die "it is not up (jobs/local-slurm.sh up)"
  local logs result=0
  logs=$(mktemp -d "$state/run.XXXXXX")
  "$jobs/submit.sh" "$1" --wait --output="$logs/%j.log" "${@:2}" || result=$?
  cat "$logs"/*.log
  return "$result"
}

case "${1:-}" in
  up | down | status | run) "$@" ;;
  -h | --help) usage ;;
  *) usage >&2 && exit 2 ;;
esac
