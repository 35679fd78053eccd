#!/bin/sh
# sbatch slurm.sh: srun starts one rank per task on all machines of the job. Rank 0's machine is the first of the
# list, and the port follows from the job's number; MASTER_ADDR and MASTER_PORT say otherwise. Written, not run on a
# cluster: see docs/scale.md.
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=2
#SBATCH --signal=TERM@120
srun openmanus-rl train --model models/warm env.env_name=household algorithm.adv_estimator=gigpo \
  trainer.threads="$SLURM_CPUS_PER_TASK" trainer.default_local_dir=runs/household
