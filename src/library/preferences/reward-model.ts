/**
 * @file Reward models: a model learns to score episodes, for rewards (`rewardModel`, reward.model) and as a judge of
 * searches (env.search.judge=reward_model).
 */
import { OptionError } from "../../assembly/index.ts";
import { valueModelFrom } from "../../models/index.ts";
import { REWARD_MODEL_FILE, type RewardModelKind, rewardModelNote } from "../../rewards/index.ts";
import {
  fingerprintOfScored,
  type LabelledItem,
  labelledObjective,
  outcomesOf,
  outcomesOfPairs,
  pairsIn,
  preferenceObjective,
  type Ranks,
  type ScoredPair,
  type Sources,
  scoredPair,
  stepsOf,
  valuesOfFindings,
} from "../../training/index.ts";
import { learnFrom, type PreferenceOptions, type PreferenceReport } from "./preferences.ts";
import { withRanks } from "../ranks.ts";

export interface RewardModelOptions extends PreferenceOptions {
  /**
   * preferences: which of two answers is better (Bradley–Terry); outcome: whether an episode is won, at its end; steps:
   * how likely that is after each turn. Default preferences.
   */
  readonly kind?: RewardModelKind;
  /** Of preferences: scores stay around 0. Default 0.01. */
  readonly centering?: number;
  /** Of preferences: the better one's score should be higher by what it was better by. Default false: by any. */
  readonly margins?: boolean;
  /** Of steps: what a turn's label loses for each turn that was still to come, below 1. Default 1: nothing. */
  readonly discount?: number;
}

/** A model with one number as its output learns from pairs, from episodes, or from what a search found. */
export function trainRewardModel(options: RewardModelOptions): Promise<PreferenceReport> {
  return withRanks((ranks) => trainOnRanks(options, ranks));
}

function trainOnRanks(options: RewardModelOptions, ranks: Ranks): Promise<PreferenceReport> {
  const { kind = "preferences", centering = 0.01, margins = false } = options;
  const common = {
    command: "reward-model",
    load: valueModelFrom,
    fingerprint: fingerprintOfScored,
    notes: { [REWARD_MODEL_FILE]: rewardModelNote(kind) },
    rows: ({ rows }: ScoredPair | LabelledItem) => rows,
  } as const;
  return kind === "preferences"
    ? learnFrom<ScoredPair, ScoredPair>(options, ranks, {
        ...{ ...common, what: "pairs", identity: { kind, centering }, ready: asMade },
        made: (sources) => pairsIn(sources, options).map((pair) => scoredPair(pair, margins)),
        objective: (model, passes) => preferenceObjective(model, { ...passes, centering }),
      })
    : learnFrom<LabelledItem, LabelledItem>(options, ranks, {
        ...{ ...common, what: "episodes or states", identity: { kind }, ready: asMade },
        made: (sources) => labelledItems(sources, kind, options),
        objective: labelledObjective,
      });
}

function asMade<Item>(made: readonly Item[]): readonly Item[] {
  return made;
}

/** Episodes, pairs of a file and what a search found, with what they came to. */
function labelledItems(
  { episodes, findings, rows }: Sources,
  kind: "outcome" | "steps",
  { pairs = "all", discount = 1 }: RewardModelOptions,
): LabelledItem[] {
  if (!(discount > 0 && discount <= 1))
    throw new OptionError(`discount: ${discount}, expected a number above 0, up to 1`);
  const items =
    kind === "outcome"
      ? [...outcomesOf(episodes), ...outcomesOfPairs(rows)]
      : [
          ...(pairs === "steps" ? [] : stepsOf(episodes, discount)),
          ...(pairs === "episodes" ? [] : valuesOfFindings(findings)),
        ];
  const labels = new Set(items.flatMap((item) => item.labels));
  if (labels.size < 2)
    throw new OptionError(
      `data: there is nothing to tell apart in it: ${items.length} episodes or states, all of them labelled ` +
        `${[...labels].join(", ") || "with nothing"}; give episodes that were won and others that were not`,
    );
  return items;
}
