/**
 * @file The words of prompts: what an agent is told before its first turn, and before every other.
 *
 * All of it can be replaced (`AgentOptions.prompts`); nothing else in the project knows these words.
 */
import type { ProblemKind } from "./formats/format.ts";

/** What a prompt can speak of. Empty texts are left out, with their headings. */
export interface PromptParts {
  /** What the world is, in a sentence. */
  readonly world: string;
  /** What the agent is to achieve, where the world says it apart from its observations. */
  readonly task: string;
  readonly observation: string;
  readonly admissible: readonly string[] | undefined;
  /** What the agent is told of its past; only in the context `steps`. */
  readonly history: string;
  /** How to answer. */
  readonly instruction: string;
  /** Turns taken before this one, and how many there may be. */
  readonly turn: number;
  readonly turns: number;
}

export interface Prompts {
  /** Said once, before everything: the system message. Empty: none. */
  system(parts: Pick<PromptParts, "world" | "instruction" | "turns">): string;
  /** The message of a turn in the context `conversation`. */
  turn(parts: PromptParts): string;
  /** The whole prompt of a turn in the context `steps`. */
  step(parts: PromptParts): string;
  /** What is said when a reply could not be read. */
  unreadable(problems: readonly { kind: ProblemKind; message: string }[]): string;
}

export const PROMPTS: Prompts = {
  system: ({ world, instruction, turns }) =>
    paragraphs(
      `You are an agent in a text world. ${world}`,
      `Each turn you are told what you see, and do one thing; you have ${turns} turns at most.`,
      instruction,
    ),
  turn: ({ turn, task, observation, admissible }) =>
    paragraphs(turn === 0 && stated(task, observation), observation, listed(admissible)),
  step: ({ world, task, history, turn, turns, observation, admissible, instruction }) =>
    paragraphs(
      `You are an agent in a text world. ${world}`,
      turn === 0 ? stated(task, observation) : task && `Your task: ${task}`,
      history,
      `Turn ${turn + 1} of ${turns}. You see:\n${observation}`,
      listed(admissible),
      instruction,
    ),
  unreadable: (problems) =>
    `Your reply could not be read: ${problems.map(({ message }) => message).join("; ")}. ` +
    "Nothing was done. Answer again, in the form that was asked for.",
};

/** Few words, for small models that learn the form from examples: only the world's own text. */
export const BARE_PROMPTS: Prompts = {
  system: () => "",
  turn: ({ turn, task, observation, admissible }) =>
    [turn === 0 && stated(task, observation), observation, admissible?.join("\n")]
      .filter(Boolean)
      .join("\n"),
  step: ({ task, history, observation, admissible }) =>
    [stated(task, observation), history, observation, admissible?.join("\n")]
      .filter(Boolean)
      .join("\n"),
  unreadable: () => "?",
};

/** Bare, with the task said again in every turn: it stands next to where the action is chosen. */
const REMINDING_PROMPTS: Prompts = {
  ...BARE_PROMPTS,
  turn: (parts) =>
    [BARE_PROMPTS.turn(parts), parts.turn > 0 && parts.task].filter(Boolean).join("\n"),
};

/** By the names that configurations use. */
export const PROMPT_SETS = {
  full: PROMPTS,
  bare: BARE_PROMPTS,
  reminding: REMINDING_PROMPTS,
} as const satisfies Record<string, Prompts>;

export type PromptSet = keyof typeof PROMPT_SETS;

/** The task, unless the observation says it in the same words. */
function stated(task: string, observation: string): string {
  return task === "" || observation.includes(task) ? "" : `Your task: ${task}`;
}

function listed(admissible: readonly string[] | undefined): string {
  return admissible && admissible.length > 0 ? `You can: ${admissible.join(" | ")}` : "";
}

function paragraphs(...texts: readonly (string | false)[]): string {
  return texts.filter(Boolean).join("\n\n");
}
