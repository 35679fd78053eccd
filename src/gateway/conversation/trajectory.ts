/**
 * @file A session that nobody trained on, as an episode: what `serve` recorded can be looked at, exported and learnt
 * from like any other.
 */
import type { Chat } from "../../models/index.ts";
import type { Trajectory } from "../../rollout/index.ts";
import type { Session } from "./session.ts";

export function sessionTrajectory(
  session: Session,
  chat: Chat,
  about: { readonly id: string; readonly name: string },
): Trajectory {
  const { told } = session;
  const turns = session.turns();
  const outcome = told?.reward ?? 0;
  const score = told?.score ?? Math.min(1, Math.max(0, outcome));
  const won = told?.won ?? score >= 1;
  return {
    id: about.id,
    step: 0,
    group: about.name,
    member: 0,
    task: { environment: "gateway", split: "served", id: about.name },
    seed: session.seed,
    tokenizer: chat.tokenizer.fingerprint,
    format: "program",
    context: "conversation",
    status: won ? "won" : "lost",
    won,
    score,
    reward: turns.reduce((sum, turn) => sum + turn.reward, outcome),
    outcome,
    turns,
    lastObservation: "",
    attempts: 1,
    seconds: (session.asked - session.made) / 1000,
  };
}
