#!/bin/bash
# Trains under Slurm, and goes on after a lost rank, a lost host, preemption and the end of the time limit:
#
#   sbatch slurm.sh FOLDER [flags of the program]
#
# FOLDER is the output folder of a compile, on a file system that all hosts share. As many tasks as the plan has ranks:
#SBATCH --job-name=cleave
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
# After `compile --devices 8 --also 4` the job may also begin on one host: --nodes=1-2. One that Slurm starts again waits for as many
# tasks as it had, unless told otherwise: scontrol update JobId=N NumTasks=4
#SBATCH --time=24:00:00
# After the loss of a host, or when another job takes the hosts, Slurm starts this script again.
#SBATCH --requeue
# Two minutes before the end of the time limit ranks save, and end with exit code 143. CLEAVE_GRACE says how long they may take.
#SBATCH --signal=TERM@120
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.log
# Where each rank has a GPU of its own: #SBATCH --gpus-per-task=1
set -u
cd "$1" || exit 5
shift
export CLEAVE_GRACE=100
# Ranks do not build, as they share the folder.
make COMM=gloo || exit 5 # On GPUs: COMM=nccl
# Each rank is started again by its own run.sh, so srun leaves the others alone when one fails.
srun --kill-on-bad-exit=0 ./run.sh --restarts 10 --auto-resume "$@"
code=$?
# Saved at the end of the time limit: the job goes back to the queue.
if [ "$code" = 143 ]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
