/**
 * @file An episode's calls of its world and of its tools: with a time limit, and so that whatever goes wrong in
 * them, or later in what they started, is an error of this episode's world and of nobody else.
 */
import {
  EnvironmentError,
  type FaultOwner,
  messageOf,
  onBehalfOf,
  type TimeLimit,
  within,
} from "../environments/index.ts";

export interface WorldCalls {
  /** Aborted: the episode is to end. */
  readonly signal: AbortSignal;
  /** Calls, and waits for the answer. `what` is who answers, for messages. */
  wait<Value>(what: string, run: () => Value | Promise<Value>): Promise<Value>;
  /** How long is waited. */
  readonly limit: TimeLimit;
  /** Only calls: faults are this episode's. */
  owned<Value>(run: () => Value): Value;
}

export function worldCalls(
  world: string,
  limit: TimeLimit,
  signal: AbortSignal,
  owner: FaultOwner,
): WorldCalls {
  return {
    signal,
    limit,
    async wait(what, run) {
      try {
        return await within(limit, what, onBehalfOf(owner, run), signal);
      } catch (error) {
        if (error instanceof EnvironmentError) throw error;
        throw new EnvironmentError(world, messageOf(error), { cause: error });
      }
    },
    owned: (run) => onBehalfOf(owner, run),
  };
}
