/**
 * @file A scripted expert as a policy that emits tokens: it goes through the same loop as a model, which
 * gives episodes to learn from (SFT), and a test of the loop.
 */
import type { ReplyFormat } from "../../agents/index.ts";
import { type DistantExpert, type Observation, seededRandom } from "../../environments/index.ts";
import type { Completion } from "../../generation/index.ts";
import type { Chat } from "../../models/index.ts";
import type { Policy } from "./policy.ts";

/** What an expert says besides its action, by field. */
export type ExpertWords = (
  observation: Observation,
  action: string,
  turn: number,
  /** Why, if the expert says that. */
  thought: string | undefined,
) => Readonly<Record<string, string>>;

export interface ScriptedPolicyOptions {
  readonly chat: Chat;
  readonly format: ReplyFormat;
  /** A new expert for one episode. */
  readonly expert: (episode: string) => DistantExpert;
  readonly contextLength?: number;
  /** Default: the expert's thought, or the shortest words that make the reply well-formed. */
  readonly words?: ExpertWords;
  /**
   * The share of turns in which it makes a mistake: does what is not admissible there, where the world
   * knows, and goes on. A model that only saw experts has never seen its own mistakes, and does not know
   * how to go on from one. (What is learned from such an episode are the other turns.) `repeat`: how likely
   * it tries the same once more, each time: models go in circles, and have to learn to leave them.
   */
  readonly mistakes?: { readonly share: number; readonly seed: number; readonly repeat?: number };
  /**
   * The share of turns in which it does something admissible at random, of which `allows` says whether it
   * does no harm. Such episodes teach what can be done, and leave how to do it well to be learned. Only
   * for experts that can go on from there (`Expert.acted`).
   */
  readonly randomActions?: {
    readonly share: number;
    readonly seed: number;
    readonly allows: (action: string) => boolean;
  };
}

export function scriptedPolicy(options: ScriptedPolicyOptions): Policy {
  const { chat, format, contextLength = Number.MAX_SAFE_INTEGER } = options;
  const words = options.words ?? minimalWords(format);
  const experts = new Map<string, DistantExpert>();
  const mistaken = options.mistakes && mistakes(options.mistakes);
  const randomly = options.randomActions && randomActions(options.randomActions);
  /** What an expert wanted to do when it made a mistake, and what it did. */
  const interrupted = new Map<string, { wanted: string; mistake: string }>();
  return {
    chat,
    contextLength,
    replyTokens: contextLength,
    source: "scripted",
    async reply({ episode, turn, observation, maximumTokens, signal }) {
      if (turn === 0) experts.set(episode, options.expert(episode));
      const expert = experts.get(episode)!;
      const before = interrupted.get(episode);
      interrupted.delete(episode);
      let action = before?.wanted ?? (await expertAction(expert, observation));
      const random = before || !expert.acted ? undefined : randomly?.(observation);
      if (random !== undefined) {
        expert.acted!(random);
        action = random;
      }
      const mistake = before
        ? mistaken?.again(before.mistake)
        : mistaken?.first(action, observation);
      if (mistake !== undefined) {
        interrupted.set(episode, { wanted: action, mistake });
        action = mistake;
      }
      const text = format.write(action, words(observation, action, turn, expert.thought?.()));
      return expertReply(chat, text, maximumTokens, signal);
    },
    end(episode) {
      experts.delete(episode);
      interrupted.delete(episode);
    },
  };
}

/** What an expert does; of a world of one's own it may be anything. */
export async function expertAction(
  expert: DistantExpert,
  observation: Observation,
): Promise<string> {
  const action: unknown = await expert.act(observation);
  if (typeof action === "string") return action;
  throw new Error(`the expert gave ${typeof action} for an action, expected a text`);
}

/** A text as what a policy says. */
export function expertReply(
  chat: Chat,
  text: string,
  maximumTokens: number,
  signal: AbortSignal,
): Completion {
  const all = [...chat.tokenizer.encodePlain(text), chat.endOfTurnId];
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
}

/** Now and then anything that can be done and does no harm. */
function randomActions({
  share,
  seed,
  allows,
}: NonNullable<ScriptedPolicyOptions["randomActions"]>) {
  const random = seededRandom("wanders", seed);
  return ({ admissible }: Observation): string | undefined => {
    if (!admissible || !random.chance(share)) return undefined;
    const harmless = admissible.filter(allows);
    return harmless.length > 0 ? random.pick(harmless) : undefined;
  };
}

/** Now and then an action that was right elsewhere and is not admissible here, once or more. */
function mistakes({ share, seed, repeat = 0 }: NonNullable<ScriptedPolicyOptions["mistakes"]>) {
  const random = seededRandom("slips", seed);
  const known: string[] = [];
  return {
    first(action: string, { admissible }: Observation): string | undefined {
      known.push(action);
      if (!admissible || !random.chance(share)) return undefined;
      const mistake = random.pick(known);
      return admissible.includes(mistake) ? undefined : mistake;
    },
    again: (mistake: string) => (repeat > 0 && random.chance(repeat) ? mistake : undefined),
  };
}

/** What an expert thought, where the format asks for something besides the action, or next to nothing. */
export function minimalWords(format: ReplyFormat): ExpertWords {
  const others = format.fields.filter(
    ({ name, optional }) => name !== format.actionField && !optional,
  );
  return (_, action, turn, thought = `next: ${action}`) =>
    Object.fromEntries(
      others
        .filter(({ withHistory }) => !withHistory || turn > 0)
        .map(({ name, withHistory }) => [name, withHistory ? `step ${turn}` : thought]),
    );
}
