/**
 * @file What an update used and computed of single tokens, as the dashboard's microscope shows it: a table with a line
 * for every token that an episode's policy drew.
 */

/** Columns, each [tokens] in float32, the numbers of the update itself. NaN: it was not computed. */
export const TOKEN_COLUMNS = {
  /** 1: learned from. 0: left out, because rollout and training disagreed on it. */
  trained: "trained on",
  old_logprob: "log-probability before the iteration's updates",
  logprob: "log-probability in its update",
  entropy: "entropy of the distribution that it was drawn from",
  reward: "reward after allocation, penalties and KL",
  advantage: "advantage",
  advantage_episode: "advantage: the episode's part",
  advantage_step: "advantage: the step's part",
  return: "what the critic was trained on",
  value: "the critic's value",
  reference_logprob: "log-probability under the reference",
  importance: "weight between rollout and training",
  /** Times `importance`, before it is put together with others. */
  loss: "policy loss",
  /** Σ weight · loss over a mini-batch is its policy loss. */
  weight: "weight of its loss in the mini-batch's",
  clipped: "whether the ratio was clipped",
  mini_batch: "number of its update in the iteration, from 0",
} as const;

export type TokenColumn = keyof typeof TOKEN_COLUMNS;

export interface RecordedTurn {
  /** Tokens that were drawn. */
  readonly tokens: number;
  /** Discounted return from here on; what GiGPO compares. */
  readonly return: number;
  /** Turns with the same number were compared with each other. */
  readonly stepGroup?: number | undefined;
}

export interface RecordedEpisode {
  readonly id: string;
  readonly turns: readonly RecordedTurn[];
}

export interface TokenTable {
  /** The iteration. */
  readonly step: number;
  /** Estimator and loss by name, and how the loss is clipped and put together. */
  readonly about: Readonly<Record<string, string | number>>;
  readonly episodes: readonly RecordedEpisode[];
  /** Of all episodes behind each other, turn by turn. A column that nobody has is not there. */
  readonly columns: Readonly<Partial<Record<TokenColumn, Float32Array>>>;
}

export function tokensOf({ turns }: RecordedEpisode): number {
  return turns.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** Tables of parts of a batch as one. */
export function joinTables(parts: readonly TokenTable[]): TokenTable {
  const [first] = parts;
  if (!first || parts.length === 1) return first!;
  const columns: Partial<Record<TokenColumn, Float32Array>> = {};
  const lengths = parts.map(({ episodes }) =>
    episodes.reduce((sum, one) => sum + tokensOf(one), 0),
  );
  const total = lengths.reduce((sum, length) => sum + length, 0);
  for (const name of Object.keys(TOKEN_COLUMNS) as TokenColumn[]) {
    if (!parts.some((part) => part.columns[name])) continue;
    const column = new Float32Array(total).fill(Number.NaN);
    let at = 0;
    for (const [i, part] of parts.entries()) {
      if (part.columns[name]) column.set(part.columns[name], at);
      at += lengths[i]!;
    }
    columns[name] = column;
  }
  return { ...first, episodes: parts.flatMap(({ episodes }) => episodes), columns };
}
