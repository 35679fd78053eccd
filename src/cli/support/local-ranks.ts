/**
 * @file `trainer.n_gpus_per_node=4`, and nothing around that starts ranks: the command starts itself so often. Rank 0
 * has the terminal; what the others say is shown when one of them fails.
 */
import { fileURLToPath } from "node:url";
import type { Settings } from "../../config/index.ts";
import { availableThreads } from "../../setup/index.ts";
import { findRendezvous, LaunchError, launch, type RankResult } from "../../torch/index.ts";
import { UsageError } from "../arguments/usage.ts";
import { onRay } from "../ray/launch.ts";
import { INTERRUPTED } from "./interrupt.ts";
import { printError } from "./print.ts";

const COMMAND = new URL("../../../bin/openmanus-rl.mjs", import.meta.url);

/** The exit code of the ranks; undefined: this process is one itself, or none are asked for. */
export async function asRanks(
  words: readonly string[],
  { trainer }: Settings,
): Promise<number | undefined> {
  const processes = trainer?.n_gpus_per_node ?? 1;
  const machines = trainer?.nnodes ?? 1;
  if (hasLauncher()) return undefined;
  if (trainer?.launcher === "ray") return onRay(words, { trainer });
  if (processes * machines <= 1) return undefined;
  const nodes = machines > 1 ? nodesOf(machines) : undefined;
  const cores = availableThreads();
  if (processes > cores && (trainer?.device ?? "cpu") === "cpu")
    printError(
      `note: trainer.n_gpus_per_node=${processes} starts ${processes} processes, and there are ${cores} cores; ` +
        "each process has the whole model, and more of them than cores are slower than fewer",
    );
  try {
    const port = process.env.MASTER_PORT;
    const results = await launch(fileURLToPath(COMMAND), {
      processes,
      arguments: words,
      isCommand: true,
      wellCodes: [0, INTERRUPTED],
      onLine: () => {},
      ...(nodes && { nodes, masterPort: Number(port) }),
    });
    return codeOf(results);
  } catch (error) {
    if (!(error instanceof LaunchError)) throw error;
    const { first } = error;
    // Rank 0 has told its reason on the terminal.
    if (first.rank !== 0)
      printError(
        [`rank ${first.rank} ${endOf(first)}:`, ...first.lastLines.map((line) => `  ${line}`)].join(
          "\n",
        ),
      );
    return first.exitCode || 1;
  }
}

function hasLauncher(): boolean {
  const { RANK, WORLD_SIZE } = process.env;
  return RANK !== undefined || WORLD_SIZE !== undefined || findRendezvous().worldSize > 1;
}

/** On several machines the same command runs on each, and is told which one it is. */
function nodesOf(count: number): { count: number; number: number; masterAddress: string } {
  const { NODE_RANK, MASTER_ADDR, MASTER_PORT } = process.env;
  const number = Number(NODE_RANK);
  if (NODE_RANK !== undefined && MASTER_ADDR && MASTER_PORT && number >= 0 && number < count)
    return { count, number, masterAddress: MASTER_ADDR };
  throw new UsageError(
    `trainer.nnodes=${count}: this command starts the ranks of one machine. Start it on each of the ${count} with ` +
      "NODE_RANK=0, 1, … and the same MASTER_ADDR and MASTER_PORT (an address and a free port of the first), or by " +
      "torchrun, mpirun or srun, or let Ray place the ranks: trainer.launcher=ray (docs/scale.md).",
  );
}

function codeOf(results: readonly RankResult[]): number {
  return results[0]?.exitCode ?? 1;
}

function endOf({ exitCode, signal }: RankResult): string {
  return signal ? `was ended by ${signal}` : `ended with exit code ${exitCode}`;
}
