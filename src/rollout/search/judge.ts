/**
 * @file Who says how promising an episode is before it has ended, and which of several is the best.
 */
import type { ChatMessage } from "../../models/index.ts";
import type { Line } from "../line.ts";
import type { Policy } from "../policies/policy.ts";
import { sampledTokens } from "../trajectory.ts";
import { logProbability } from "./tree.ts";

export interface Judgement {
  /** 0 (hopeless) to 1 (as good as won). */
  readonly value: number;
  /** Tokens that were drawn for it. */
  readonly tokens?: number;
}

/** A judge of one's own may be any such function: a critic, a reward model, a rule. */
export interface Judge {
  readonly name: string;
  judge(line: Line, signal: AbortSignal): Judgement | Promise<Judgement>;
}

/** The world's own score so far. In worlds that score only at the end it knows nothing before. */
export const scoreJudge: Judge = {
  name: "score",
  judge: ({ score }) => ({ value: clamped(score) }),
};

/** How sure the policy was of what it said: its mean probability of a token. */
export const likelihoodJudge: Judge = {
  name: "likelihood",
  judge({ turns }) {
    const tokens = sampledTokens({ turns });
    return { value: tokens === 0 ? 1 : Math.exp(logProbability(turns) / tokens) };
  },
};

const QUESTION =
  "Look at what was done so far. Will the task be solved soon if it goes on like this? Answer with yes or no.";

/**
 * The model's own judgement: it is shown what happened and asked; the value is the share of "yes" among its answers.
 * Its answers are drawn at the policy's temperature.
 */
export function modelJudge(policy: Policy, answers = 3): Judge {
  return {
    name: "model",
    async judge(line, signal) {
      const messages = [...account(line), { role: "user" as const, content: QUESTION }];
      const prompt = policy.chat.promptIds(joined(messages));
      if (prompt.length >= policy.contextLength) return { value: UNDECIDED };
      const replies = await Promise.all(
        Array.from({ length: answers }, (_, i) =>
          policy.reply({
            episode: `${line.id}?${i}`,
            turn: 0,
            messages,
            prompt,
            // Not to be constrained to the world's actions.
            observation: { ...line.observation, admissible: undefined },
            maximumTokens: Math.min(LONGEST, policy.contextLength - prompt.length),
            seed: BigInt(i),
            signal,
          }),
        ),
      );
      for (const i of replies.keys()) policy.end(`${line.id}?${i}`);
      const votes = replies.map(({ ids }) => {
        const text = policy.chat.tokenizer.decode(ids, { skipSpecialTokens: true });
        return /\byes\b/i.test(text) ? 1 : /\bno\b/i.test(text) ? 0 : UNDECIDED;
      });
      return {
        value: votes.reduce((sum: number, vote) => sum + vote, 0) / votes.length,
        tokens: replies.reduce((sum, { ids }) => sum + ids.length, 0),
      };
    },
  };
}

/** The value where nothing speaks for either. */
export const UNDECIDED = 0.5;
/** Tokens of an answer. */
const LONGEST = 16;

function account({ turns, lastText }: Line): ChatMessage[] {
  const told = turns.flatMap(({ observation, action, reply }) => [
    { role: "user" as const, content: observation },
    { role: "assistant" as const, content: action ?? reply.text },
  ]);
  return [...told, { role: "user", content: lastText }];
}

/** Templates want users and assistants by turns. */
function joined(messages: readonly ChatMessage[]): ChatMessage[] {
  const result: ChatMessage[] = [];
  for (const message of messages) {
    const last = result.at(-1);
    if (last?.role === message.role)
      result[result.length - 1] = { ...last, content: `${last.content}\n\n${message.content}` };
    else result.push(message);
  }
  return result;
}

export function clamped(value: number): number {
  return Math.min(Math.max(value, 0), 1);
}
