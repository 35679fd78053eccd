/**
 * @file What launchers other than torchrun call the same things: Open MPI's mpirun (OMPI_COMM_WORLD_*), MPICH's and
 * Intel's (PMI_*, MPI_LOCAL*), Slurm's srun (SLURM_*). None of them says where rank 0 may listen: on one machine that
 * is loopback, srun lists the machines, and otherwise MASTER_ADDR has to. The port follows from the job's number, so
 * that all ranks find the same without asking.
 */
import { createHash } from "node:crypto";

type Environment = Readonly<Record<string, string | undefined>>;

/** Below the ports that systems give away by themselves. */
const FIRST_PORT = 20_000;
const PORTS = 10_000;

/** A launcher's variables under torchrun's names; those that are set already stay. */
export function asTorchrun(environment: Environment): Environment {
  // Both, or neither: one alone is a mistake that is told elsewhere.
  if (environment.RANK !== undefined || environment.WORLD_SIZE !== undefined) return environment;
  const found = openMpi(environment) ?? pmi(environment) ?? slurm(environment);
  if (!found) return environment;
  const { job, masterAddress, ...ranks } = found;
  return {
    ...environment,
    ...ranks,
    MASTER_ADDR: environment.MASTER_ADDR ?? masterAddress,
    MASTER_PORT: environment.MASTER_PORT ?? `${portOf(job)}`,
  };
}

interface Found {
  readonly RANK: string;
  readonly WORLD_SIZE: string;
  readonly LOCAL_RANK: string | undefined;
  /** Undefined: not known. */
  readonly masterAddress: string | undefined;
  /** By which two jobs on the same machines have ports of their own. */
  readonly job: string;
}

function openMpi(environment: Environment): Found | undefined {
  const { OMPI_COMM_WORLD_RANK: RANK, OMPI_COMM_WORLD_SIZE: WORLD_SIZE } = environment;
  if (RANK === undefined || WORLD_SIZE === undefined) return undefined;
  return {
    RANK,
    WORLD_SIZE,
    LOCAL_RANK: environment.OMPI_COMM_WORLD_LOCAL_RANK,
    masterAddress: onOneMachine(environment.OMPI_COMM_WORLD_LOCAL_SIZE, WORLD_SIZE),
    job: `mpi ${environment.PMIX_NAMESPACE ?? environment.OMPI_MCA_ess_base_jobid ?? ""}`,
  };
}

function pmi(environment: Environment): Found | undefined {
  const { PMI_RANK: RANK, PMI_SIZE: WORLD_SIZE } = environment;
  if (RANK === undefined || WORLD_SIZE === undefined) return undefined;
  return {
    RANK,
    WORLD_SIZE,
    LOCAL_RANK: environment.MPI_LOCALRANKID,
    masterAddress: onOneMachine(environment.MPI_LOCALNRANKS, WORLD_SIZE),
    job: `pmi ${environment.PMI_JOBID ?? environment.PMI_ID ?? ""} ${environment.PMI_PORT ?? ""}`,
  };
}

/** Only inside of srun: a batch script has a number and a count, too, and runs once. */
function slurm(environment: Environment): Found | undefined {
  const { SLURM_PROCID: RANK, SLURM_STEP_NUM_TASKS: WORLD_SIZE, SLURM_STEP_ID } = environment;
  if (RANK === undefined || WORLD_SIZE === undefined || SLURM_STEP_ID === undefined)
    return undefined;
  const nodes = environment.SLURM_STEP_NODELIST ?? environment.SLURM_JOB_NODELIST ?? "";
  return {
    RANK,
    WORLD_SIZE,
    LOCAL_RANK: environment.SLURM_LOCALID,
    masterAddress: environment.SLURM_STEP_NUM_NODES === "1" ? "127.0.0.1" : firstHost(nodes),
    job: `slurm ${environment.SLURM_JOB_ID ?? ""} ${SLURM_STEP_ID}`,
  };
}

function onOneMachine(local: string | undefined, all: string): string | undefined {
  return local === all ? "127.0.0.1" : undefined;
}

/** The first machine of a list as Slurm writes it: `node[03-05,9],other` has `node03` first. */
export function firstHost(list: string): string | undefined {
  const [, before = "", ranges, after = ""] =
    /^([^[,]*)(?:\[([^\]]*)\])?([^,[]*)/.exec(list.trim()) ?? [];
  const number = ranges?.split(",")[0]?.split("-")[0] ?? "";
  return `${before}${number}${after}` || undefined;
}

function portOf(job: string): number {
  return FIRST_PORT + (createHash("sha256").update(job).digest().readUInt32BE(0) % PORTS);
}
