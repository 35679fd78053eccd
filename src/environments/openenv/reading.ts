/**
 * @file An OpenEnv server's outcomes as observations and results of ours. The protocol does not say which field
 * is what an agent should read; names that are common are tried, and else all of it is shown.
 */
import type { Observation, StepResult, ToolDefinition } from "../environment.ts";
import { readAction } from "../tools/action.ts";
import type { Outcome } from "./messages.ts";
import type { ActionForm } from "./remote.ts";

export interface ReadingRules {
  /** The field that is shown; default: by its name. */
  readonly text: string | undefined;
  /** The reward of the last step from which on an episode counts as won, where the server does not say. */
  readonly winAt: number;
}

const TEXTS = ["text", "observation", "content", "message", "prompt", "output", "echoed_message"];
const ACTIONS = ["admissible_actions", "available_actions", "legal_actions", "admissible"];

export function observationOf({ observation }: Outcome, rules: ReadingRules): Observation {
  const name = rules.text ?? TEXTS.find((field) => typeof observation[field] === "string");
  const shownField = name === undefined ? undefined : observation[name];
  const text =
    typeof shownField === "string" ? shownField : JSON.stringify(shownField ?? observation);
  const admissible = ACTIONS.map((field) => observation[field]).find(isTexts);
  return {
    ...{ text, anchor: text, info: {} },
    ...(typeof observation.instruction === "string" && { instruction: observation.instruction }),
    ...(admissible && { admissible }),
  };
}

export function resultOf(
  outcome: Outcome,
  action: string,
  before: Observation,
  rules: ReadingRules,
): StepResult {
  const { observation, done } = outcome;
  const reward = Number(outcome.reward ?? 0);
  const won =
    typeof observation.won === "boolean" ? observation.won : done && reward >= rules.winAt;
  const score = typeof observation.score === "number" ? observation.score : won ? 1 : reward;
  return {
    observation: observationOf(outcome, rules),
    ...{ reward, done: done || won, won, score: Math.min(1, Math.max(0, score)) },
    ...(before.admissible && { admissible: before.admissible.includes(action) }),
  };
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/** What is sent for an action; undefined where it is no call of a tool and has to be. */
export function actionData(form: ActionForm, action: string): Record<string, unknown> | undefined {
  if ("field" in form) return { [form.field]: action };
  const call = readAction(action);
  return call.kind === "call"
    ? { type: "call_tool", tool_name: call.name, arguments: call.given }
    : undefined;
}

export function callHelp(tools: readonly ToolDefinition[]): string {
  return `An action is a call, {"name": …, "arguments": {…}}; there are ${tools.map(({ name }) => name).join(", ")}.`;
}
