/**
 * @file A model as a policy: in this process or behind a server.
 */
import { type ReplyFormat, replyFormat } from "../../agents/index.ts";
import type { Observation } from "../../environments/index.ts";
import type { SamplingOptions, TextGenerator } from "../../generation/index.ts";
import type { Chat } from "../../models/index.ts";
import type { Policy } from "./policy.ts";

export interface ModelPolicyOptions {
  readonly generator: TextGenerator;
  readonly chat: Chat;
  /** Tokens that fit into the model. */
  readonly contextLength: number;
  /** How replies are drawn; `maximumTokens` is a reply's longest length. */
  readonly sampling: SamplingOptions;
  /**
   * Only replies that hold an admissible action, written in this format, can be drawn, where the world
   * knows the actions. To be reported apart from free generation.
   */
  readonly constrain?: string | ReplyFormat;
}

export function modelPolicy(options: ModelPolicyOptions): Policy {
  const { generator, chat, contextLength, sampling, constrain } = options;
  const format = typeof constrain === "string" ? replyFormat(constrain) : constrain;
  if (format) requireOnlyAction(format);
  const stopTokens = sampling.stopTokens ?? [chat.endOfTurnId];
  return {
    chat,
    contextLength,
    replyTokens: sampling.maximumTokens,
    source: "policy",
    reply({ episode, prompt, observation, maximumTokens, seed, signal }) {
      const choices = format && choicesOf(observation, format);
      return generator.generate({
        prompt,
        sampling: { ...sampling, stopTokens, maximumTokens, ...(choices && { choices }) },
        seed,
        conversation: episode,
        signal,
      });
    },
    end: (episode) => generator.release(episode),
  };
}

/** Constrained replies hold an action and nothing else: a format that demands more would refuse them. */
function requireOnlyAction(format: ReplyFormat): void {
  const other = demandedBesideAction(format);
  if (other !== undefined)
    throw new RangeError(
      `a constrained policy says only its action, but the format "${format.name}" also demands ` +
        `"${other}"; use a format without such fields (action, tools)`,
    );
}

/** A field that a format demands beside the action, if there is one: its replies cannot be constrained. */
export function demandedBesideAction({ fields, actionField }: ReplyFormat): string | undefined {
  return fields.find((field) => field.name !== actionField && !field.optional)?.name;
}

/** Undefined where the world knows no actions, or some have blanks that only the model can fill in. */
function choicesOf({ admissible }: Observation, format: ReplyFormat): string[] | undefined {
  if (!admissible || admissible.length === 0 || admissible.some((action) => action.includes("<")))
    return undefined;
  return [...new Set(admissible)].map((action) => format.write(action));
}
