/**
 * @file A judge: a model reads the episode and gives it a mark.
 */
import type { Trajectory } from "../../rollout/index.ts";
import { type RewardComponent, rewardFunction } from "../component.ts";

export interface JudgeOptions {
  /** Asks the judge: a chat server, or anything else that answers in words. */
  readonly ask: (question: string, signal?: AbortSignal) => Promise<string>;
  /** What is to be judged. */
  readonly rubric?: string;
  /** Characters of the episode that the judge is shown: its end, where it is longer. Default 20,000. */
  readonly longest?: number;
}

/** The judge's mark from 0 to 10, as a number from 0 to 1. */
export function judge(weight: number, options: JudgeOptions): RewardComponent {
  const { ask, longest = 20_000 } = options;
  const rubric =
    options.rubric ?? "Did the agent solve its task, and without needless or wrong steps?";
  return rewardFunction("judge", weight, async ({ trajectory, signal }) => {
    const answer = await ask(question(trajectory, rubric, longest), signal);
    return mark(answer) / 10;
  });
}

function question(trajectory: Trajectory, rubric: string, longest: number): string {
  const turns = trajectory.turns.map(
    ({ observation, reply }, i) => `[${i + 1}] It saw: ${observation}\nIt said: ${reply.text}`,
  );
  const text = [...turns, `At the end it saw: ${trajectory.lastObservation}`].join("\n\n");
  const shown = text.length > longest ? `…${text.slice(-longest)}` : text;
  return [
    "Judge an agent by what it did.",
    rubric,
    "",
    "<episode>",
    shown,
    "</episode>",
    "",
    "Answer with a mark from 0 (not at all) to 10 (perfectly), in this form and nothing else:",
    "<mark>7</mark>",
  ].join("\n");
}

function mark(answer: string): number {
  const found =
    /<mark>\s*(\d+(?:\.\d+)?)\s*<\/mark>/i.exec(answer) ?? /^\s*(\d+(?:\.\d+)?)\s*$/.exec(answer);
  const value = Number(found?.[1]);
  if (found && value >= 0 && value <= 10) return value;
  throw new Error(
    `the judge's answer has no mark from 0 to 10: ${JSON.stringify(answer.slice(0, 200))}`,
  );
}
