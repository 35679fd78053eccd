/**
 * @file Episodes made by hand, for rewards.
 */
import type { Trajectory, Turn } from "../../src/rollout/index.ts";

export interface TurnSketch extends Partial<Omit<Turn, "reply">> {
  /** Tokens of the reply. Default 2. */
  readonly tokens?: number;
  /** Tokens of the prompt. Default 3. */
  readonly prompt?: number;
  readonly text?: string;
}

export function turn({ tokens = 2, prompt = 3, text = "go", ...rest }: TurnSketch = {}): Turn {
  const list = (length: number, value: number) => Array.from({ length }, () => value);
  return {
    observation: "x",
    anchor: "x",
    messages: [],
    promptIds: list(prompt, 1),
    reply: {
      ids: list(tokens, 2),
      logprobs: list(tokens, -1),
      sampledLogprobs: list(tokens, -1),
      text,
      finish: "stop",
      weightsVersion: 0,
      source: "policy",
    },
    action: "go",
    parts: {},
    problems: [],
    admissible: null,
    reward: 0,
    score: 0,
    info: {},
    seconds: { generate: 0, step: 0 },
    ...rest,
  };
}

export function episode(turns: readonly Turn[], rest: Partial<Trajectory> = {}): Trajectory {
  return {
    id: "0:t#0",
    step: 0,
    group: "0:t",
    member: 0,
    task: { environment: "w", split: "train", id: "t" },
    seed: 1n,
    format: "action",
    context: "conversation",
    status: "turn limit",
    won: false,
    score: 0,
    reward: turns.reduce((sum, { reward }) => sum + reward, 0),
    turns,
    lastObservation: "",
    attempts: 1,
    seconds: 0,
    ...rest,
  };
}
