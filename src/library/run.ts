/**
 * @file What `train` gives back: where everything is, and what can be done with the trained agent.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { OptionError } from "../assembly/index.ts";
import type { ChatMessage } from "../models/index.ts";
import { bestPolicy, type RunState, type Stop, type TrainingResult } from "../training/index.ts";
import { type ChatOptions, chat } from "./serving/chat.ts";
import { type EvaluateOptions, type EvaluationOf, evaluateWith, policyIn } from "./evaluate.ts";
import type { Plan } from "./train.ts";

export interface Run {
  readonly folder: string;
  /** Iterations done, episodes played, and the like. */
  readonly state: RunState;
  /** The iteration from which it went on; 0: it began here. */
  readonly resumedFrom: number;
  /** Aborted before its last iteration; the same call goes on. */
  readonly interrupted: boolean;
  /** Why it ended by itself before its last iteration. */
  readonly stopped: Stop | undefined;
  /** The model that reinforcement learning began with. */
  readonly start: string;
  /** The trained policy after the last iteration: a model folder. Undefined: nothing was trained. */
  readonly model: string | undefined;
  /** The best policy by validation. Undefined where the run has not validated. */
  readonly best:
    | { readonly iteration: number; readonly successRate: number; readonly folder: string }
    | undefined;
  /** The report, an HTML page. Undefined on ranks other than 0. */
  readonly report: string | undefined;
  /** Settings that were given and have no effect, with the reason. */
  readonly notes: readonly string[];
  /** Plays tasks that training never sees; of the best policy by default. */
  evaluate<Options extends RunEvaluateOptions>(options?: Options): Promise<EvaluationOf<Options>>;
  /** The best policy's answer to a text, or to messages. */
  chat(question: string | readonly ChatMessage[], options?: ChatOptions): Promise<string>;
}

export interface RunEvaluateOptions
  extends Omit<EvaluateOptions, "model" | "world" | "agent" | "settings" | "preset"> {
  /** A model's folder, "best", "last", or "start": before reinforcement learning. */
  readonly model?: string;
}

export function runOf(plan: Plan, result: TrainingResult, report: string | undefined): Run {
  const { folder, start } = plan;
  const best = bestPolicy(folder, result.state);
  const named = (name: string): string => {
    if (name === "start") return start;
    if (name === "last" || (name === "best" && !best)) return trained(result.model, folder);
    return name === "best" ? best!.folder : name;
  };
  return {
    folder,
    state: result.state,
    resumedFrom: result.resumedFrom,
    interrupted: result.interrupted,
    stopped: result.stopped,
    start,
    model: result.model,
    best,
    report,
    notes: plan.notes,
    // Async, so that what is wrong is a rejection like any other.
    async evaluate<Options extends RunEvaluateOptions>(options?: Options) {
      const { model = "best", against, ...rest }: RunEvaluateOptions = options ?? {};
      const found = await evaluateWith(plan, {
        progress: plan.audience.stream ?? false,
        ...rest,
        model: named(model),
        against: against === undefined ? undefined : named(against),
      });
      return found as EvaluationOf<Options>;
    },
    chat: async (question, options) => chat(named("best"), question, options),
  };
}

function trained(model: string | undefined, folder: string): string {
  if (model !== undefined) return model;
  if (existsSync(join(folder, "checkpoints"))) return policyIn(folder);
  throw new OptionError(`${folder}: nothing was trained yet; there is no policy to play`);
}
