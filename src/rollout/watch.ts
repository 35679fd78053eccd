/**
 * @file Somebody who watches an episode while it is played: hears what is said, has no say in it. Must not throw.
 */
import type { SampledToken } from "../generation/index.ts";
import type { SampledReply, Trajectory, Turn } from "./trajectory.ts";

export interface EpisodeWatch {
  /** What the agent sees before it replies, and the actions that its world would understand, where it lists them. */
  told(turn: number, text: string, admissible?: readonly string[] | undefined): void;
  /** Each token as it is drawn. Absent: whole replies are enough. */
  token?(turn: number, token: SampledToken): void;
  replied(turn: number, reply: SampledReply): void;
  /** What the world made of it. */
  acted(turn: number, outcome: Pick<Turn, "action" | "admissible" | "reward" | "score">): void;
  ended(trajectory: Trajectory): void;
}

/** Turns that were over before anybody could look, one after the other. */
export function tellTurns(watch: EpisodeWatch, turns: readonly Turn[]): void {
  for (const [i, turn] of turns.entries()) {
    watch.told(i, turn.observation);
    watch.replied(i, turn.reply);
    watch.acted(i, turn);
  }
}
