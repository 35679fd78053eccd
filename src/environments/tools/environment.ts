/**
 * @file One episode of a question with tools behind the interface of all worlds.
 */

import { shown } from "../../network/index.ts";
import { nearest } from "../../spelling/index.ts";
import {
  type Environment,
  EnvironmentError,
  type Json,
  type Observation,
  type StepResult,
  type Task,
} from "../environment.ts";
import { ANSWER, readAction } from "./action.ts";
import { isExactly } from "./scoring/exact.ts";
import type { Judge } from "./scoring/judge.ts";
import { callTool, type Tool } from "./tool.ts";

/** What the environments of a world share. */
export interface Context {
  readonly tools: readonly Tool[];
  /** Unless given, only exact answers are right. */
  readonly judge?: Judge | undefined;
  /** Characters of an observation. */
  readonly longest: number;
  readonly winReward: number;
  /** Whether the first observation describes the tools. */
  readonly describe: boolean;
}

interface Episode {
  readonly question: string;
  readonly expected: string;
  /** Every call and what came of it: what the agent knows. */
  readonly history: readonly string[];
  readonly end?: StepResult;
}

export class ToolsEnvironment implements Environment {
  readonly #context: Context;
  #episode: Episode | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  reset(task: Task): Observation {
    const { question, answer } = (task.data ?? {}) as Partial<Record<string, Json>>;
    if (typeof question !== "string" || typeof answer !== "string")
      throw new EnvironmentError(
        "tools",
        `the task ${shown(task.id)} is not one of this world's: its data must have a question and an answer.`,
      );
    this.#episode = { question, expected: answer, history: [] };
    return this.#observation(introduction(question, this.#context), question, {});
  }

  async step(text: string): Promise<StepResult> {
    const episode = this.#begun();
    if (episode.end) return { ...episode.end, reward: 0 };
    const action = readAction(text);
    if (action.kind === "answer") return this.#answered(episode, action.answer);
    const outcome =
      action.kind === "nothing"
        ? { text: action.problem, failed: true }
        : await this.#called(action.name, action.given);
    const history = [...episode.history, `${text.slice(0, 1000)}\n${outcome.text}`];
    this.#episode = { ...episode, history };
    const tool = action.kind === "call" ? { tool: action.name.slice(0, 100) } : {};
    return {
      observation: this.#observation(outcome.text, history.join("\n\n"), {
        ...tool,
        failed: outcome.failed,
      }),
      reward: 0,
      done: false,
      won: false,
      admissible: action.kind === "call" && !outcome.failed,
      score: 0,
    };
  }

  clone(): ToolsEnvironment {
    const copy = new ToolsEnvironment(this.#context);
    copy.#episode = this.#episode;
    return copy;
  }

  #begun(): Episode {
    if (this.#episode) return this.#episode;
    throw new EnvironmentError("tools", "step() before reset(); call reset(task) first.");
  }

  async #called(name: string, given: Readonly<Record<string, unknown>>) {
    const { tools, longest } = this.#context;
    const tool = tools.find((tool) => tool.name === name);
    if (tool) return callTool(tool, given, longest);
    const names = [...tools.map((tool) => tool.name), ANSWER.name];
    const guess = nearest(name, names);
    return {
      text:
        `There is no tool "${name.slice(0, 60)}"${guess ? `; did you mean ${guess}?` : "."} ` +
        `There are ${names.join(", ")}.`,
      failed: true,
    };
  }

  async #answered(episode: Episode, given: string): Promise<StepResult> {
    const { judge, winReward } = this.#context;
    const { question, expected, history } = episode;
    let won = isExactly(given, expected);
    let reason: string | undefined;
    if (!won && judge) {
      const verdict = await judge({ question, expected, given });
      won = verdict.right;
      reason = verdict.reason;
    }
    const text = won ? "The answer is right." : "The answer is wrong.";
    const info = {
      answer: given.slice(0, 1000),
      expected,
      ...(reason !== undefined && { judge: reason }),
    };
    const end: StepResult = {
      observation: this.#observation(text, text, info),
      reward: won ? winReward : 0,
      done: true,
      won,
      ...(!won && { lost: true }),
      admissible: true,
      score: won ? 1 : 0,
    };
    this.#episode = { ...episode, history, end };
    return end;
  }

  #observation(text: string, anchor: string, info: Readonly<Record<string, Json>>): Observation {
    return { text, anchor, info, instruction: this.#begun().question };
  }
}

function introduction(question: string, { tools, describe }: Context): string {
  const lines = [`Question: ${question}`];
  if (describe)
    lines.push(
      "",
      "Tools:",
      ...[...tools, ANSWER].map((tool) => {
        return `${tool.name} ${JSON.stringify(tool.parameters.properties ?? {})}: ${tool.description}`;
      }),
      "",
      'A call is {"name": "…", "arguments": {…}}, one at a time.',
    );
  return lines.join("\n");
}
