/**
 * @file Who a process is among the others, by the variables of each launcher.
 */
import { expect, it } from "vitest";
import { findRendezvous, firstHost } from "../../src/torch/index.ts";

it("Open MPI on one machine needs nothing else", () => {
  const mpi = (rank: number, job: string) =>
    findRendezvous(
      {},
      {
        ...{ OMPI_COMM_WORLD_RANK: `${rank}`, OMPI_COMM_WORLD_SIZE: "4" },
        ...{ OMPI_COMM_WORLD_LOCAL_RANK: `${rank}`, OMPI_COMM_WORLD_LOCAL_SIZE: "4" },
        PMIX_NAMESPACE: job,
      },
    );
  expect(mpi(3, "a")).toMatchObject({ rank: 3, worldSize: 4, localRank: 3 });
  expect(mpi(3, "a").masterAddress).toBe("127.0.0.1");
  expect(mpi(0, "a").masterPort).toBe(mpi(3, "a").masterPort);
  expect(mpi(0, "b").masterPort).not.toBe(mpi(0, "a").masterPort);
});

it("Open MPI on several machines asks for MASTER_ADDR", () => {
  const given = {
    ...{ OMPI_COMM_WORLD_RANK: "1", OMPI_COMM_WORLD_SIZE: "4", OMPI_COMM_WORLD_LOCAL_SIZE: "2" },
  };
  expect(() => findRendezvous({}, given)).toThrow(/MASTER_ADDR is not set.*-x MASTER_ADDR/s);
  expect(findRendezvous({}, { ...given, MASTER_ADDR: "host1" }).masterAddress).toBe("host1");
});

it("MPICH's and Intel's", () => {
  const found = findRendezvous(
    {},
    { PMI_RANK: "1", PMI_SIZE: "2", MPI_LOCALRANKID: "1", MPI_LOCALNRANKS: "2" },
  );
  expect(found).toMatchObject({ rank: 1, worldSize: 2, localRank: 1, masterAddress: "127.0.0.1" });
});

it("srun's, and not those of a batch script", () => {
  const step = {
    ...{ SLURM_PROCID: "5", SLURM_LOCALID: "1", SLURM_STEP_NUM_TASKS: "8", SLURM_STEP_ID: "0" },
    ...{ SLURM_JOB_ID: "77", SLURM_STEP_NUM_NODES: "4", SLURM_STEP_NODELIST: "gpu[03-05,9]" },
  };
  expect(findRendezvous({}, step)).toMatchObject({
    ...{ rank: 5, worldSize: 8, localRank: 1, masterAddress: "gpu03" },
  });
  expect(findRendezvous({}, { ...step, SLURM_STEP_ID: undefined }).worldSize).toBe(1);
  expect(findRendezvous({}, { ...step, RANK: "0", WORLD_SIZE: "1" }).worldSize).toBe(1);
});

it.each([
  ["node1", "node1"],
  ["node1,node2", "node1"],
  ["node[1-3]", "node1"],
  ["a[07,9]-x,b", "a07-x"],
  ["", undefined],
])("the first machine of %s", (list, first) => {
  expect(firstHost(list)).toBe(first);
});
