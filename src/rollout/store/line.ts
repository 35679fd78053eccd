/**
 * @file A trajectory as one line of JSON, and back. What JSON cannot hold is written another way: a seed
 * of 63 bits as a text, a number that is not known (NaN) as null.
 */
import type { SampledReply, Trajectory, Turn } from "../trajectory.ts";

/** A line that is not a trajectory. */
export class TrajectoryLineError extends Error {
  override name = "TrajectoryLineError";
}

export function toLine(trajectory: Trajectory): string {
  return JSON.stringify({ ...trajectory, seed: String(trajectory.seed) });
}

export function fromLine(line: string): Trajectory {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw new TrajectoryLineError(`no JSON: ${(error as Error).message}`);
  }
  const record = value as Trajectory & { seed: unknown };
  const wrong = problemOf(record);
  if (wrong) throw new TrajectoryLineError(wrong);
  return { ...record, seed: BigInt(record.seed), turns: record.turns.map(turnOf) };
}

function turnOf(turn: Turn): Turn {
  return { ...turn, reply: replyOf(turn.reply) };
}

function replyOf(reply: SampledReply): SampledReply {
  const known = (values: readonly (number | null)[]) => values.map((value) => value ?? Number.NaN);
  return {
    ...reply,
    logprobs: known(reply.logprobs),
    sampledLogprobs: known(reply.sampledLogprobs),
  };
}

/** The first thing that a reader of trajectories would stumble over. */
function problemOf(record: Trajectory): string | undefined {
  if (typeof record !== "object" || record === null) return "expected an object";
  for (const key of ["id", "group", "format", "context", "status", "seed"] as const)
    if (typeof record[key] !== "string") return `expected "${key}" to be a text`;
  if (!/^\d+$/.test(String(record.seed))) return `expected "seed" to be a whole number`;
  if (typeof record.task?.id !== "string") return 'expected "task" with an "id"';
  if (!Array.isArray(record.turns)) return 'expected "turns" to be a list';
  for (const [i, turn] of record.turns.entries()) {
    const reply = turn?.reply;
    if (!Array.isArray(turn?.promptIds) || !Array.isArray(reply?.ids))
      return `turn ${i + 1}: expected lists "promptIds" and "reply.ids"`;
    for (const key of ["logprobs", "sampledLogprobs"] as const)
      if (!Array.isArray(reply[key]) || reply[key].length !== reply.ids.length)
        return `turn ${i + 1}: ${reply.ids.length} ids, and not as many ${key}`;
    if (typeof reply.text !== "string") return `turn ${i + 1}: expected "reply.text" to be a text`;
    for (const key of ["messages", "problems"] as const)
      if (!Array.isArray(turn[key])) return `turn ${i + 1}: expected "${key}" to be a list`;
  }
  return undefined;
}
