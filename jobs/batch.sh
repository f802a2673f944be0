# shellcheck shell=bash
# What the jobs share; sourced by the sbatch scripts, which run in the root of the repository.
# A job's state is its result file: stopped anywhere and started again, it goes on where it was.
source jobs/site.sh
source jobs/settings.sh

if [ ${#modules[@]} -gt 0 ]; then module load "${modules[@]}"; fi
mkdir -p results

# Sets MPIRUN for sweep.sh, which adds "-n P"; the arguments are options for either launcher.
#   use_launcher SRUN_OPTIONS MPIRUN_OPTIONS
use_launcher() {
  case $launcher in
    srun) export MPIRUN="srun ${srun_options[*]} $1" ;;
    mpirun) export MPIRUN="mpirun ${mpirun_options[*]} $2" ;;
    *)
      echo "error: launcher=$launcher (jobs/site.sh, LAUNCHER): srun or mpirun is needed" >&2
      exit 2
      ;;
  esac
}

finished_records() { if [ -e "$result" ]; then wc -l <"$result"; else echo 0; fi; }

stop_launcher() {
  kill -TERM "$launched" 2>/dev/null || true
  wait "$launched" || true
}

# Slurm says with USR1 (submit.sh: --signal) that the time is nearly up: put the job back into the
# queue, unless it got nowhere, since it would get nowhere for ever. The signal may come a minute
# before its time: Slurm looks at limits that often.
on_time_nearly_up() {
  stop_launcher
  if [ "$(finished_records)" -gt "$records_before" ]; then
    echo "thinwire job: time is nearly up; requeued, resumes behind record $(finished_records)"
    trap 'exit 143' TERM # with which Slurm ends this run of the job
    scontrol requeue "$SLURM_JOB_ID"
    sleep infinity &
    wait $!
  fi
  echo "thinwire job: not one point was done within TIME_LIMIT=$time_limit; give it more" >&2
  exit 1
}

# scancel, scontrol requeue, preemption or a node that goes down: only stop.
on_terminated() {
  stop_launcher
  echo "thinwire job: stopped behind record $(finished_records); submit it again to resume"
  exit 143
}

# Runs sweep.sh so that signals are heard at once: bash answers them only between commands, or
# while it waits for one in the background.
run_sweep() {
  local status=0
  records_before=$(finished_records)
  export RESULT=$result
  jobs/sweep.sh &
  launched=$!
  trap on_time_nearly_up USR1
  trap on_terminated TERM
  wait "$launched" || status=$?
  return "$status"
}
