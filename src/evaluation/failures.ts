/**
 * @file Why an episode was not won, as far as it can be seen in any world: the first of these that holds. What it says is
 * how the episode looks, not what caused it.
 */
import { isWellFormed, TRAINABLE, type Trajectory, type Turn } from "../rollout/index.ts";

export const FAILURES = {
  "not the agent's doing": "the world, the model or the time failed",
  "replies cut off": "most replies ended at their largest length",
  "replies not readable": "most replies had no action in them",
  "actions not admissible": "most actions were none that the world knows",
  "goes round in a circle": "the same few actions again and again to the end",
  "ended by a wrong move": "the world ended the episode",
  "context full": "the next prompt left no room for a reply",
  "was getting on": "out of turns, with a score that had risen",
  "out of turns": "nothing else is to be seen",
} as const;

export type Failure = keyof typeof FAILURES;

/** Turns at the end that are looked at for circles. */
const TAIL = 8;
/** So few different actions among them are a circle. */
const FEW = 2;

/** Undefined: it was won. */
export function failureOf(
  trajectory: Pick<Trajectory, "won" | "status" | "turns" | "score">,
): Failure | undefined {
  const { won, status, turns, score } = trajectory;
  if (won) return undefined;
  if (!TRAINABLE.has(status)) return "not the agent's doing";
  const most = (is: (turn: Turn) => boolean) => 2 * turns.filter(is).length > turns.length;
  if (most(({ reply }) => reply.finish === "length")) return "replies cut off";
  if (most((turn) => turn.action === null && !isWellFormed(turn))) return "replies not readable";
  if (most(({ admissible, action }) => admissible === false || action === null))
    return "actions not admissible";
  if (isCircle(turns)) return "goes round in a circle";
  if (status === "lost") return "ended by a wrong move";
  if (status === "context full" || status === "token limit") return "context full";
  return score > 0 ? "was getting on" : "out of turns";
}

function isCircle(turns: readonly Turn[]): boolean {
  const tail = turns.slice(-TAIL);
  return tail.length === TAIL && new Set(tail.map(({ action }) => action)).size <= FEW;
}
