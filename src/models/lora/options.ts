/**
 * @file What a LoRA adapter is made of: rank, scale, dropout, and which matrices get one.
 */

/** transformers' names of the matrices in a layer that can have an adapter, in the layer's order. */
export const LORA_TARGETS = [
  ...(["q_proj", "k_proj", "v_proj", "o_proj"] as const),
  ...(["gate_proj", "up_proj", "down_proj"] as const),
] as const;

export type LoraTarget = (typeof LORA_TARGETS)[number];

export interface LoraOptions {
  /** Inner size of the two small matrices. */
  rank: number;
  /** The product is multiplied by alpha / rank. Default: twice the rank. */
  alpha?: number;
  /** Share of an adapter's inputs that are dropped in training. Default 0. */
  dropout?: number;
  /** Default: all. */
  targets?: readonly LoraTarget[] | "all-linear";
  /** Multiply by alpha / √rank instead ("rank-stabilised"). Default false. */
  rankStabilised?: boolean;
}

export type LoraSettings = Required<Omit<LoraOptions, "targets">> & {
  /** In the order of LORA_TARGETS. */
  targets: readonly LoraTarget[];
};

/** The options with their defaults; what makes no sense is refused. */
export function loraSettings(options: LoraOptions): LoraSettings {
  const { rank, alpha = 2 * rank, dropout = 0, rankStabilised = false } = options;
  const wanted: readonly string[] =
    options.targets === undefined || options.targets === "all-linear"
      ? LORA_TARGETS
      : options.targets;
  if (!(Number.isInteger(rank) && rank > 0))
    throw new RangeError(`LoRA: expected a whole rank above 0, got ${rank}`);
  if (!(Number.isFinite(alpha) && alpha > 0))
    throw new RangeError(`LoRA: expected alpha above 0, got ${alpha}`);
  if (!(dropout >= 0 && dropout < 1))
    throw new RangeError(`LoRA: expected a dropout from 0 to below 1, got ${dropout}`);
  const unknown = wanted.find((name) => !LORA_TARGETS.some((target) => target === name));
  if (unknown !== undefined || wanted.length === 0)
    throw new RangeError(
      `LoRA: expected targets among ${LORA_TARGETS.join(", ")}, or "all-linear", got ` +
        (unknown === undefined ? "none" : JSON.stringify(unknown)),
    );
  const targets = LORA_TARGETS.filter((target) => wanted.includes(target));
  return { rank, alpha, dropout, rankStabilised, targets };
}

/** What the product of the small matrices is multiplied by. */
export function loraScale({ rank, alpha, rankStabilised }: LoraSettings): number {
  return alpha / (rankStabilised ? Math.sqrt(rank) : rank);
}
