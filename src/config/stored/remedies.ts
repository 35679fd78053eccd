/**
 * @file Which setting a remedy is, and what it would become: alarms name remedies in words, and only here are they verl's.
 */
import { parse } from "yaml";
import type { AlarmOptions, Remedy } from "../../evaluation/index.ts";
import { namedEstimator } from "../combinations.ts";
import { isTree, type Plain } from "../override.ts";
import { allSettings } from "../tree.ts";

export interface ProposedSetting {
  readonly path: string;
  readonly now: string;
  /** What to try; undefined: to be looked at. */
  readonly to: string | undefined;
}

/** What a stored configuration (config.yaml) says; what is missing or cannot be read is as it is by default. */
export function storedSettings(record: string): (path: string) => Plain | undefined {
  let config: Plain | undefined;
  try {
    config = parse(record) as Plain;
  } catch {
    config = {};
  }
  const defaults = new Map(
    allSettings().map(({ path, defaultValue }) => [path, defaultValue as Plain | undefined]),
  );
  return (path) => {
    let value: Plain | undefined = config;
    for (const name of path.split(".")) value = isTree(value) ? value[name] : undefined;
    return value ?? defaults.get(path);
  };
}

/** As the alarms of a run with this configuration see it. */
export function storedAlarmOptions(record: string): AlarmOptions {
  const at = storedSettings(record);
  const number = (path: string, usual: number) => {
    const value = at(path);
    return typeof value === "number" ? value : usual;
  };
  return {
    maxKl: number("trainer.max_kl", Number.POSITIVE_INFINITY),
    minEntropy: number("trainer.min_entropy", 0),
    comparesGroups: namedEstimator(String(at("algorithm.adv_estimator")))?.needs.groups === true,
    // Whoever asks wants to know.
    ignored: [],
  };
}

const ACTOR = "actor_rollout_ref.actor";
const ROLLOUT = "actor_rollout_ref.rollout";

/** From what it is to what it would be; undefined: it would not change. */
type Change = (now: Plain | undefined) => Plain | undefined;

const times =
  (factor: number): Change =>
  (now) =>
    typeof now === "number" && now !== 0 ? Number((now * factor).toPrecision(3)) : undefined;
const turnedTo =
  (value: Plain): Change =>
  (now) =>
    now === value ? undefined : value;

const REMEDIES: Readonly<Record<Remedy, readonly (readonly [path: string, change: Change])[]>> = {
  "lower the learning rate": [[`${ACTOR}.optim.lr`, times(1 / 3)]],
  "fewer updates per batch": [
    [`${ACTOR}.ppo_epochs`, turnedTo(1)],
    [`${ACTOR}.ppo_mini_batch_size`, times(2)],
  ],
  "less entropy bonus": [
    [`${ACTOR}.entropy_coeff`, (now) => (Number(now) > 0 ? times(0.1)(now) : undefined)],
  ],
  "more entropy bonus": [
    [`${ACTOR}.entropy_coeff`, (now) => (Number(now) > 0 ? times(3)(now) : 0.01)],
  ],
  "KL to the reference": [
    [`${ACTOR}.use_kl_loss`, turnedTo(true)],
    [`${ACTOR}.kl_loss_coef`, (now) => (Number(now) > 0 ? undefined : 0.01)],
  ],
  "higher temperature": [[`${ROLLOUT}.temperature`, (now) => (Number(now) < 1 ? 1 : undefined)]],
  "longer replies": [["data.max_response_length", times(2)]],
  "longer prompts": [["data.max_prompt_length", times(2)]],
  "more turns": [["env.max_steps", times(2)]],
  "larger groups": [["env.rollout.n", times(2)]],
  "filter groups": [["algorithm.filter_groups.enable", turnedTo(true)]],
  "warm start": [],
  "chat form": [
    ["env.format", (now) => now],
    ["env.prompts", (now) => now],
  ],
  constrain: [[`${ROLLOUT}.constrain`, turnedTo(true)]],
  "reward weights": allSettings()
    .filter(({ path }) => /^reward\.[a-z_]+$/.test(path))
    .map(({ path }) => [path, (now: Plain | undefined) => now] as const),
  "importance weights": [["algorithm.rollout_correction.rollout_is", turnedTo("token")]],
};

/** The settings of some remedies, as a run has them and as they might be. */
export function proposedSettings(
  remedies: readonly Remedy[],
  record: string,
): readonly ProposedSetting[] {
  const at = storedSettings(record);
  return remedies.flatMap((remedy) =>
    REMEDIES[remedy].flatMap(([path, change]): ProposedSetting[] => {
      const now = at(path);
      const to = change(now);
      // Of the reward's many settings those that weigh something are worth a look.
      const isSilent = remedy === "reward weights" && !(typeof now === "number" && now !== 0);
      if (to === undefined || to === null || isSilent) return [];
      const said = (value: Plain | undefined) =>
        typeof value === "string" ? value : (JSON.stringify(value) ?? "unset");
      return [{ path, now: said(now), to: to === now ? undefined : said(to) }];
    }),
  );
}
