/**
 * @file A scripted expert as a policy that emits tokens: it goes through the same loop as a model, which
 * gives episodes to learn from (SFT), and a test of the loop.
 */
import type { ReplyFormat } from "../../agents/index.ts";
import type { Expert, Observation } from "../../environments/index.ts";
import type { Chat } from "../../models/index.ts";
import type { Policy } from "./policy.ts";

/** What an expert says besides its action, by field. */
export type ExpertWords = (
  observation: Observation,
  action: string,
  turn: number,
) => Readonly<Record<string, string>>;

export interface ScriptedPolicyOptions {
  readonly chat: Chat;
  readonly format: ReplyFormat;
  /** A new expert for one episode. */
  readonly expert: (episode: string) => Expert;
  readonly contextLength?: number;
  /** Default: the shortest words that make the reply well-formed. */
  readonly words?: ExpertWords;
}

export function scriptedPolicy(options: ScriptedPolicyOptions): Policy {
  const { chat, format, contextLength = Number.MAX_SAFE_INTEGER } = options;
  const words = options.words ?? fewWords(format);
  const experts = new Map<string, Expert>();
  return {
    chat,
    contextLength,
    replyTokens: contextLength,
    source: "scripted",
    async reply({ episode, turn, observation, maximumTokens, signal }) {
      if (turn === 0) experts.set(episode, options.expert(episode));
      const action = experts.get(episode)!.act(observation);
      const text = format.write(action, words(observation, action, turn));
      const all = [...chat.tokenizer.encode(text), chat.endOfTurnId];
      const ids = all.slice(0, maximumTokens);
      const unknown = ids.map(() => Number.NaN);
      return {
        ids,
        logprobs: unknown,
        sampledLogprobs: unknown,
        finish: signal.aborted ? "abort" : ids.length < all.length ? "length" : "stop",
        stop: ids.length < all.length ? null : chat.endOfTurnId,
        cachedTokens: 0,
        weightsVersion: 0,
        retokenized: false,
      };
    },
    end: (episode) => void experts.delete(episode),
  };
}

function fewWords(format: ReplyFormat): ExpertWords {
  const others = format.fields.filter(
    ({ name, optional }) => name !== format.actionField && !optional,
  );
  return (_, action, turn) =>
    Object.fromEntries(
      others
        .filter(({ withHistory }) => !withHistory || turn > 0)
        .map(({ name, withHistory }) => [name, withHistory ? `step ${turn}` : `next: ${action}`]),
    );
}
