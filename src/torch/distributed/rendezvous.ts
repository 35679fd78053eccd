/**
 * @file Who this process is among the others, from the environment variables that launchers set (torchrun's: RANK,
 * WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT; others' in launchers.ts).
 */
import { ProcessGroupError } from "./errors.ts";
import { asTorchrun } from "./launchers.ts";

export interface Rendezvous {
  /** This process's number among all, from 0. */
  rank: number;
  /** How many processes there are. */
  worldSize: number;
  /** This process's number on its machine: the number of its CUDA device, usually. */
  localRank: number;
  /** Where rank 0 is, as seen from this process; rank 0 listens there and nowhere else. */
  masterAddress: string;
  masterPort: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

const HIGHEST_PORT = 65535;

/**
 * Joins what the caller gives with what the environment says. Without RANK and WORLD_SIZE from
 * either, this is the only process.
 */
export function findRendezvous(
  given: Partial<Rendezvous> = {},
  variables: Environment = process.env,
): Rendezvous {
  const environment = asTorchrun(variables);
  const number = (name: string, highest: number) => readNumber(environment, name, highest);
  const rank = given.rank ?? number("RANK", Number.MAX_SAFE_INTEGER);
  const worldSize = given.worldSize ?? number("WORLD_SIZE", Number.MAX_SAFE_INTEGER);
  if (rank === undefined && worldSize === undefined) return alone(given);
  if (rank === undefined || worldSize === undefined) throw incomplete(rank, worldSize);
  if (!Number.isInteger(worldSize) || worldSize < 1)
    throw wrong(`WORLD_SIZE: expected a number of processes from 1, got ${worldSize}`);
  if (!Number.isInteger(rank) || rank < 0 || rank >= worldSize)
    throw wrong(`RANK: expected 0 to ${worldSize - 1} (WORLD_SIZE is ${worldSize}), got ${rank}`);
  if (worldSize === 1) return { ...alone(given), rank, worldSize };

  const masterAddress = given.masterAddress ?? environment.MASTER_ADDR;
  const masterPort = given.masterPort ?? number("MASTER_PORT", HIGHEST_PORT);
  if (masterAddress === undefined || masterAddress === "" || masterPort === undefined)
    throw wrong(
      `${masterAddress ? "MASTER_PORT" : "MASTER_ADDR"} is not set: ${worldSize} processes need ` +
        "the address and a free port of rank 0 to find each other. Set MASTER_ADDR and " +
        "MASTER_PORT on all ranks (mpirun: -x MASTER_ADDR=…), or start them with launch() or torchrun.",
    );
  if (!Number.isInteger(masterPort) || masterPort < 1 || masterPort > HIGHEST_PORT)
    throw wrong(`MASTER_PORT: expected 1 to ${HIGHEST_PORT}, got ${masterPort}`);
  const localRank = given.localRank ?? number("LOCAL_RANK", Number.MAX_SAFE_INTEGER) ?? rank;
  return { rank, worldSize, localRank, masterAddress, masterPort };
}

function alone(given: Partial<Rendezvous>): Rendezvous {
  return {
    rank: 0,
    worldSize: 1,
    localRank: given.localRank ?? 0,
    masterAddress: given.masterAddress ?? "127.0.0.1",
    masterPort: given.masterPort ?? 0,
  };
}

function incomplete(rank: number | undefined, worldSize: number | undefined): ProcessGroupError {
  const [present, missing] =
    rank === undefined ? [`WORLD_SIZE=${worldSize}`, "RANK"] : [`RANK=${rank}`, "WORLD_SIZE"];
  return wrong(
    `${missing} is not set, although ${present} is. Set both for several processes (launch() and ` +
      "torchrun do), or neither for one.",
  );
}

function readNumber(environment: Environment, name: string, highest: number): number | undefined {
  const text = environment[name];
  if (text === undefined || text === "") return undefined;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > highest)
    throw wrong(
      `${name}: expected a whole number from 0${highest === HIGHEST_PORT ? ` to ${highest}` : ""}, ` +
        `got "${text}"`,
    );
  return value;
}

/** A mistake of whoever starts the ranks: a sentence is enough. */
function wrong(message: string): ProcessGroupError {
  return new ProcessGroupError(message, "rendezvous", []);
}
