/**
 * @file A model as a policy: in this process or behind a server.
 */
import { type ReplyFormat, replyFormat } from "../../agents/index.ts";
import type { SamplingOptions, TextGenerator } from "../../generation/index.ts";
import type { Chat } from "../../models/index.ts";
import { constrainedReply, constraintOf } from "./constrained.ts";
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
   * knows the actions; thoughts before it are free. To be reported apart from free generation.
   */
  readonly constrain?: string | ReplyFormat;
}

export function modelPolicy(options: ModelPolicyOptions): Policy {
  const { generator, chat, contextLength, sampling, constrain } = options;
  const format = typeof constrain === "string" ? replyFormat(constrain) : constrain;
  const constraint = format && constraintOf(format);
  const stopTokens = sampling.stopTokens ?? [chat.endOfTurnId];
  return {
    chat,
    contextLength,
    replyTokens: sampling.maximumTokens,
    source: "policy",
    reply({ episode, task, prompt, observation, maximumTokens, seed, signal, onToken }) {
      const request = {
        prompt,
        sampling: { ...sampling, stopTokens, maximumTokens },
        seed,
        conversation: episode,
        ...(task !== undefined && { task }),
        signal,
        ...(onToken && { onToken }),
      };
      const choices = constraint?.choices(observation);
      return choices
        ? constrainedReply(generator, request, {
            opening: constraint?.opening,
            choices,
            tokenizer: chat.tokenizer,
          })
        : generator.generate(request);
    },
    end: (episode) => generator.release(episode),
  };
}
