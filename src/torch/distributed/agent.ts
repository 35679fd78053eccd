/**
 * @file Meeting under torchrun. Its agent keeps a store of its own at MASTER_ADDR:MASTER_PORT, on whichever machine
 * the agents met; so rank 0 takes a free port where it is, and writes into that store where the others find it.
 */
import { createHash, randomInt } from "node:crypto";
import { native } from "../native.ts";
import { ProcessGroupError } from "./errors.ts";
import type { Rendezvous } from "./rendezvous.ts";

const STORE_MILLISECONDS = 10_000;
/** What listens answers at once. */
const PROBE_MILLISECONDS = 300;
const PAUSE_MILLISECONDS = 100;

/** Whether the port of the environment is the agent's and not ours. */
export function hasAgentStore(environment: NodeJS.ProcessEnv = process.env): boolean {
  return environment.TORCHELASTIC_USE_AGENT_STORE === "True";
}

/** How often this process has met the others. */
let meetings = 0;

/** Where rank 0 really is; waits for it so long. */
export function meetThroughAgent(rendezvous: Rendezvous, milliseconds: number): Rendezvous {
  const { rank, worldSize, masterAddress: host, masterPort: port } = rendezvous;
  if (worldSize === 1) return rendezvous;
  const run = createHash("sha256")
    .update(process.env.TORCHELASTIC_RUN_ID ?? "")
    .digest("hex");
  // A process may meet the others more than once: rank 0 of the last time may still listen.
  const key = `openmanus-rl/${run.slice(0, 16)}/${meetings++}`;
  if (rank === 0) {
    const masterAddress = native.ownAddress(host, port, STORE_MILLISECONDS);
    if (masterAddress === null) throw unreachable(rendezvous);
    const masterPort = freePort(masterAddress);
    native.agentStoreSet(host, port, key, `${masterPort} ${masterAddress}`, STORE_MILLISECONDS);
    return { ...rendezvous, masterAddress, masterPort };
  }
  // What the store has may be of ranks that were lost before these were started: nobody listens there then.
  for (const end = performance.now() + milliseconds; performance.now() < end; pause()) {
    const [, found, masterAddress] =
      /^(\d+) (\S+)$/.exec(native.agentStoreGet(host, port, key, STORE_MILLISECONDS) ?? "") ?? [];
    if (found === undefined || masterAddress === undefined) continue;
    const masterPort = Number(found);
    if (native.ownAddress(masterAddress, masterPort, PROBE_MILLISECONDS) !== null)
      return { ...rendezvous, masterAddress, masterPort };
  }
  throw new ProcessGroupError(
    `rank 0 has not said in the store of torchrun's agent (${host}:${port}) where it is, within ` +
      `${milliseconds / 1000} s`,
    "rendezvous",
    [0],
  );
}

/** One at which nobody listens, below those that systems give away by themselves. */
function freePort(address: string): number {
  while (true) {
    const port = randomInt(20_000, 30_000);
    if (native.ownAddress(address, port, PROBE_MILLISECONDS) === null) return port;
  }
}

function unreachable({ masterAddress, masterPort }: Rendezvous): ProcessGroupError {
  return new ProcessGroupError(
    `torchrun's agent does not answer at ${masterAddress}:${masterPort}`,
    "rendezvous",
    [],
  );
}

/** Joining blocks, as all operations between ranks do. */
function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MILLISECONDS);
}
