/**
 * @file The work that all peers do, as token ids that are the same for everybody. Nothing here knows a model:
 * ids are cut from one long list, which is the tokens of a real text.
 */

/** Sequences that grow turn by turn: an observation is appended, a reply of a fixed length is drawn. */
export interface GenerationCase {
  readonly about: string;
  readonly sequences: number;
  /** Replies to each prompt; only with one turn. */
  readonly samples: number;
  readonly turns: number;
  /** Tokens that each turn appends. */
  readonly observation: number;
  /** Tokens that each turn draws, whatever the model says. */
  readonly reply: number;
}

export const GENERATION_CASES = {
  prompts: {
    about: "32 prompts of 128 + 64",
    ...{ sequences: 32, samples: 1, turns: 1, observation: 128, reply: 64 },
  },
  groups: {
    about: "8 prompts of 128 × 8 replies of 64",
    ...{ sequences: 8, samples: 8, turns: 1, observation: 128, reply: 64 },
  },
  episodes: {
    about: "16 episodes × 6 turns of 40 + 24",
    ...{ sequences: 16, samples: 1, turns: 6, observation: 40, reply: 24 },
  },
} as const satisfies Record<string, GenerationCase>;

/** 4,096 tokens, a forward and a backward pass and AdamW. */
export const TRAINING_CASES = {
  plain: { about: "the loss alone", entropy: false },
  entropy: { about: "with the entropy", entropy: true },
} as const;
export const TRAINING_SEQUENCES = 8;
export const TRAINING_LENGTH = 512;

/** One iteration: groups of replies to a prompt, or of episodes. */
export interface GrpoCase {
  readonly about: string;
  readonly tasks: number;
  readonly group: number;
  /** Tokens of the first prompt, the chat's own included. */
  readonly prompt: number;
  readonly turns: number;
  /** Tokens of every later turn's message, the chat's own included. */
  readonly observation: number;
  readonly reply: number;
}

const GROUPS = { tasks: 8, group: 8 };
const SINGLE = { ...GROUPS, turns: 1, observation: 0, reply: 64 };
export const GRPO_CASES = {
  "prompt-256": { about: "8 prompts of 256 × 8 replies of 64", ...SINGLE, prompt: 256 },
  "prompt-512": { about: "8 prompts of 512 × 8 replies of 64", ...SINGLE, prompt: 512 },
  "prompt-39": { about: "8 prompts of 39 × 8 replies of 64", ...SINGLE, prompt: 39 },
  turns: {
    about: "8 tasks × 8 episodes × 4 turns of 48 + 24, after a prompt of 128",
    ...{ ...GROUPS, prompt: 128, turns: 4, observation: 48, reply: 24 },
  },
} as const satisfies Record<string, GrpoCase>;

/** A case with its ids. */
export interface GenerationWork {
  readonly name: string;
  readonly samples: number;
  readonly reply: number;
  /** [sequences][turns][tokens] */
  readonly observations: readonly (readonly (readonly number[])[])[];
}

/** How many tokens are drawn. */
export function newTokens({ samples, reply, observations }: GenerationWork): number {
  return observations.reduce((sum, turns) => sum + turns.length * samples * reply, 0);
}

/**
 * Cuts pieces from a list of ids, one after the other; from the beginning again where it ends. Nobody may find a
 * prompt in a cache that another sequence has left there, so it should be long.
 */
export function cutter(ids: readonly number[]): (length: number) => number[] {
  let at = 0;
  return (length) => {
    if (ids.length < length)
      throw new RangeError(`cutter: expected at least ${length} ids, got ${ids.length}`);
    if (at + length > ids.length) at = 0;
    at += length;
    return ids.slice(at - length, at);
  };
}

export function generationWork(
  name: string,
  { sequences, samples, turns, observation, reply }: GenerationCase,
  cut: (length: number) => number[],
): GenerationWork {
  const observations = Array.from({ length: sequences }, () =>
    Array.from({ length: turns }, () => cut(observation)),
  );
  return { name, samples, reply, observations };
}

/**
 * A text whose ids, as `lengthOf` counts them with what a chat puts around, are exactly so many. `words` are taken
 * in order, from the beginning again when they are used up: one that makes it too long is left out.
 */
export function textOfLength(
  length: number,
  words: readonly string[],
  lengthOf: (text: string) => number,
): string {
  let text = words[0] ?? "";
  let [at, refused] = [1, 0];
  for (let left = length - lengthOf(text); left > 0 && refused <= words.length; ) {
    // Many at once while much is missing: counting takes as long as the text.
    const count = refused > 0 ? 1 : Math.ceil(left / 3);
    const more = Array.from({ length: count }, (_, i) => words[(at + i) % words.length]);
    const longer = `${text} ${more.join(" ")}`;
    const rest = length - lengthOf(longer);
    if (rest >= 0) [text, left, refused] = [longer, rest, 0];
    else refused++;
    at += rest >= 0 ? count : 1;
  }
  if (lengthOf(text) !== length)
    throw new RangeError(
      `textOfLength: the words make no text of ${length} tokens (nearest: ${lengthOf(text)})`,
    );
  return text;
}
