/**
 * @file Sessions seen from outside: what is in one, what it is worth, and its end. Only whoever may ask in a session
 * may see it.
 */
import { z } from "zod";
import type { Session } from "../conversation/session.ts";
import { GatewayError } from "../errors.ts";
import type { Gateway } from "../gateway.ts";
import { readBody } from "../protocols/read.ts";
import type { Caller } from "./callers.ts";

/** By which a program names its own session. */
const SELF = "self";

export function showSession(gateway: Gateway, caller: Caller, id: string): Response {
  return Response.json(summaryOf(sessionAt(gateway, caller, id), id));
}

const rewardSchema = z.object({
  reward: z.number(),
  score: z.number().min(0).max(1).optional(),
  won: z.boolean().optional(),
  branch: z.number().int().min(0).optional(),
});

export async function rewardSession(
  gateway: Gateway,
  caller: Caller,
  id: string,
  request: Request,
): Promise<Response> {
  const { branch, ...told } = await readBody(request, rewardSchema);
  const session = sessionAt(gateway, caller, id);
  session.reward(told, branch);
  return Response.json(summaryOf(session, id));
}

/** Only sessions that clients named: a program's ends with the program. */
export function endSession(gateway: Gateway, caller: Caller, id: string): Response {
  const session = sessionAt(gateway, caller, id);
  if (!caller.opened) gateway.end(caller.owner, id === SELF ? caller.name! : id);
  return Response.json(summaryOf(session, id));
}

function sessionAt(gateway: Gateway, { owner, name, opened }: Caller, id: string): Session {
  const isOwn = id === SELF || id === opened?.id;
  const found = opened ? isOwn && opened : gateway.find(owner, id === SELF ? (name ?? "") : id);
  if (found) return found;
  throw new GatewayError("not_found", "there is no such session.");
}

function summaryOf(session: Session, id: string) {
  return {
    id,
    object: "session",
    created: Math.floor(session.begun / 1000),
    branches: session.branches.map(({ number, reason, turns, conversation }) => ({
      ...{ branch: number, reason, turns: turns.length, tokens: conversation.ids.length },
      sampled_tokens: turns.reduce((sum, { reply }) => sum + reply.ids.length, 0),
    })),
    reward: session.told?.reward ?? null,
    limit: session.limit ?? null,
  };
}
