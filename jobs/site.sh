# shellcheck shell=bash disable=SC2034
# This cluster: the one place for partition, account, time, modules and launcher. Sourced by
# submit.sh and inside every job. A variable in the environment stands above the value here:
# TIME_LIMIT=00:10:00 LAUNCHER=mpirun jobs/submit.sh jobs/emulated.sbatch

partition=${PARTITION:-}            # empty: the cluster's default
account=${ACCOUNT:-}                # empty: your default
time_limit=${TIME_LIMIT:-01:00:00}  # of a job; one that needs more is requeued and resumes
grace_s=${GRACE_S:-60}              # seconds before that limit at which a job stops by itself
exclusive=${EXCLUSIVE:-yes}         # whole nodes: a neighbour's load is in measured times

modules=()  # for instance: modules=(gcc/12 openmpi/4.1 onednn/3.2)

# srun needs a Slurm with the PMIx plugin (srun --mpi=list); mpirun an Open MPI built for Slurm.
launcher=${LAUNCHER:-srun}
srun_options=(--mpi=pmix --cpu-bind=none --overcommit)
mpirun_options=(--oversubscribe --bind-to none)
