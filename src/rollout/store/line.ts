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

/** Lists of a turn, and what each of their items has as a text. */
const LISTS = { messages: ["role", "content"], problems: ["kind", "message"] } as const;

function isListOf(list: unknown, fields: readonly string[]): boolean {
  const isItem = (item: Record<string, unknown> | null) =>
    fields.every((field) => typeof item?.[field] === "string");
  return Array.isArray(list) && list.every(isItem);
}

function isAllowed({ allowed, ids }: SampledReply): boolean {
  const isList = (list: unknown) =>
    list === null || (Array.isArray(list) && list.every(Number.isInteger));
  return Array.isArray(allowed) && allowed.length === ids.length && allowed.every(isList);
}

/** The first thing that a reader of trajectories would stumble over. */
function problemOf(record: Trajectory): string | undefined {
  if (typeof record !== "object" || record === null) return "expected an object";
  for (const key of ["id", "group", "format", "context", "status", "seed"] as const)
    if (typeof record[key] !== "string") return `expected "${key}" to be a text`;
  if (!/^\d+$/.test(String(record.seed))) return `expected "seed" to be a whole number`;
  for (const key of ["reward", "score", "step"] as const)
    if (typeof record[key] !== "number") return `expected "${key}" to be a number`;
  if (typeof record.lastObservation !== "string") return `expected "lastObservation" to be a text`;
  if (typeof record.task?.id !== "string") return 'expected "task" with an "id"';
  if (!Array.isArray(record.turns)) return 'expected "turns" to be a list';
  for (const [i, turn] of record.turns.entries()) {
    const reply = turn?.reply;
    if (!Array.isArray(turn?.promptIds) || !Array.isArray(reply?.ids))
      return `turn ${i + 1}: expected lists "promptIds" and "reply.ids"`;
    for (const key of ["logprobs", "sampledLogprobs"] as const)
      if (!Array.isArray(reply[key]) || reply[key].length !== reply.ids.length)
        return `turn ${i + 1}: ${reply.ids.length} ids, and not as many ${key}`;
    if (reply.allowed !== undefined && !isAllowed(reply))
      return `turn ${i + 1}: expected "reply.allowed" to be a list of ids or null for each id`;
    if (typeof reply.text !== "string") return `turn ${i + 1}: expected "reply.text" to be a text`;
    if (!(turn.promptIds.every(Number.isInteger) && reply.ids.every(Number.isInteger)))
      return `turn ${i + 1}: expected ids to be whole numbers`;
    if (typeof turn.reward !== "number") return `turn ${i + 1}: expected "reward" to be a number`;
    for (const [key, fields] of Object.entries(LISTS))
      if (!isListOf(turn[key as keyof typeof LISTS], fields))
        return `turn ${i + 1}: expected "${key}" to be a list of ${fields.join(" and ")}`;
  }
  return undefined;
}
