/**
 * @file What goes wrong between ranks, as a sentence for whoever reads the output of one of them: who says it,
 * what happened, and what to do.
 */
import { type FailureReason, ProcessGroupError } from "../../torch/index.ts";

const ADVICE: Readonly<Record<FailureReason, string>> = {
  died:
    "All ranks end; the same command on all of them goes on from the last checkpoint. The output of the rank that " +
    "died, or the kernel's log (out of memory), says why",
  left: "All ranks end; the output of the one that left says why. The same command goes on from the last checkpoint",
  failed:
    "All ranks end. When that is put right, the same command goes on from the last checkpoint",
  timeout: "All ranks end; the same command goes on from the last checkpoint",
  mismatch:
    "The ranks do not do the same: start all of them with the same command, the same version and the same data",
  transport:
    "Look whether the machines still reach each other (GLOO_SOCKET_IFNAME names the network to use); the same " +
    "command goes on from the last checkpoint",
  rendezvous:
    "Start all ranks with the same MASTER_ADDR and MASTER_PORT (an address and a free port of rank 0's machine), " +
    "or let a launcher do it: trainer.n_gpus_per_node, torchrun, mpirun, srun",
};

/** One whose message is the sentence already. */
class ToldError extends ProcessGroupError {}

/** The same failure, with what to do. */
export function toldError(error: ProcessGroupError, who?: string): ProcessGroupError {
  if (error instanceof ToldError) return error;
  // `broadcastObject #4 failed: …` is for whoever debugs the group, and so is what becomes of it.
  const what = error.message
    .replace(/^(?:\w+(?: #\d+)? failed|this process group cannot be used any more): /, "")
    .replace(/\. Destroy it, and start the ranks again$/, "");
  return new ToldError(
    `${who === undefined ? "" : `${who}: `}${what}. ${ADVICE[error.reason]}.`,
    error.reason,
    error.ranks,
  );
}

/** Runs an operation of the group; its failure says what to do. */
export function told<Value>(operation: () => Value, who?: string): Value {
  try {
    return operation();
  } catch (error) {
    throw error instanceof ProcessGroupError ? toldError(error, who) : error;
  }
}
