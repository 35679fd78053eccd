/**
 * @file What OpenEnv's clients and servers say to each other (openenv-core 0.3): JSON over a web socket, `{type, data}`.
 */
import { z } from "zod";

/** What is asked. A session is one connection; each has an environment of its own. */
export const question = z.discriminatedUnion("type", [
  z.object({ type: z.literal("reset"), data: z.record(z.string(), z.unknown()).default({}) }),
  z.object({ type: z.literal("step"), data: z.record(z.string(), z.unknown()) }),
  z.object({ type: z.literal("state") }),
  z.object({ type: z.literal("close") }),
  z.object({ type: z.literal("mcp"), data: z.record(z.string(), z.unknown()) }),
]);

/** What came of a reset or a step. Rewards may be missing, and truth values. */
export const outcome = z.object({
  observation: z.record(z.string(), z.unknown()),
  reward: z.union([z.number(), z.boolean()]).nullish(),
  done: z.boolean().default(false),
});
export type Outcome = z.infer<typeof outcome>;

/** An answer. */
export const answer = z.object({ type: z.string(), data: z.record(z.string(), z.unknown()) });

export const tools = z.array(
  z.object({
    name: z.string(),
    description: z.string().nullish(),
    input_schema: z.record(z.string(), z.unknown()).optional(),
  }),
);

/** What /schema says about actions, as far as it is understood. */
export const schema = z.object({
  action: z.object({
    properties: z.record(z.string(), z.record(z.string(), z.unknown())).default({}),
    required: z.array(z.string()).default([]),
  }),
});

export type ErrorCode =
  | "INVALID_JSON"
  | "UNKNOWN_TYPE"
  | "VALIDATION_ERROR"
  | "EXECUTION_ERROR"
  | "CAPACITY_REACHED"
  | "SESSION_ERROR";
