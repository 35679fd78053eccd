/**
 * @file A program that is a function of this process. It cannot be ended: when its time is up it is told so, and
 * nobody waits for it any more.
 */
import type { Json } from "../../environments/index.ts";
import type { AgentProgramOptions, ProgramAnswer } from "./define.ts";
import type { Start } from "./run.ts";

export async function runFunction<Data extends Json>(
  call: NonNullable<AgentProgramOptions<Data>["function"]>,
  { task, access }: Start<Data>,
): Promise<ProgramAnswer> {
  return await call(task, access);
}
