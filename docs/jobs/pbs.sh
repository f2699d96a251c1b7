#!/bin/bash
# Trains under PBS, and goes on after a lost rank and, where PBS runs the job again, after a lost host:
#
#   qsub -v FOLDER=out/net pbs.sh
#
# FOLDER is the output folder of a compile, relative to the folder of qsub, on a file system that all hosts share. As many
# processes as the plan has ranks; after `compile --devices 8 --also 4` the job goes on with 4 when one of the hosts is lost:
#PBS -N cleave
#PBS -l select=2:ncpus=4:mpiprocs=4
#PBS -l walltime=24:00:00
#PBS -r y
#PBS -j oe
set -u
cd "$PBS_O_WORKDIR/$FOLDER" || exit 5
# Before the end of the walltime PBS sends SIGTERM, at which ranks save; its kill_delay says how long they may take.
exec ./run.sh --restarts 10 --hosts "$PBS_NODEFILE" --launch mpirun --auto-resume
