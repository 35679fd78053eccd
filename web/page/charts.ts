/**
 * @file Which metrics are drawn together.
 */
export interface Chart {
  readonly title: string;
  /** Metrics drawn in it; those that were never measured are left out. */
  readonly names: readonly string[];
}

export interface ChartGroup {
  readonly title: string;
  readonly charts: readonly Chart[];
  /** Shown at once; the others when they are opened. Default false. */
  readonly open?: boolean;
}

const chart = (title: string, ...names: string[]): Chart => ({ title, names });

/** What everyone looks at first. */
const FIRST: readonly ChartGroup[] = [
  {
    title: "Learning",
    open: true,
    charts: [
      chart("Success rate", "episode/success_rate", "val/success_rate"),
      chart("Reward per episode", "episode/reward/mean", "val/reward", "critic/rewards/mean"),
      chart("Episode length (turns)", "episode/length/mean", "num_turns/mean"),
      chart("Valid actions", "episode/valid_action_ratio", "val/valid_action_ratio"),
    ],
  },
  {
    title: "Optimisation",
    open: true,
    charts: [
      chart("Loss", "train/loss", "val/loss"),
      chart("Policy loss", "actor/pg_loss"),
      chart("Value loss", "critic/vf_loss"),
      chart("KL", "actor/ppo_kl", "actor/kl_loss", "actor/reward_kl_penalty"),
      chart("Entropy", "actor/entropy"),
      chart("Gradient norm", "actor/grad_norm", "critic/grad_norm"),
    ],
  },

  {
    title: "Groups, lengths, speed",
    open: true,
    charts: [
      chart("Spread of rewards within groups", "reward_std", "frac_reward_zero_std"),
      chart("Tokens of a reply", "response_length/mean", "response_length/max"),
      chart("Time of an iteration (s)", "timing_s/step", "timing_s/gen", "timing_s/update_actor"),
      chart("Tokens per second", "perf/sampled_tokens_per_second", "perf/update_tokens_per_second"),
      chart("Memory (GB)", "perf/cpu_memory_used_gb"),
    ],
  },
];

/** Success by type of task, where there are types, and what the reward is made of. */
const TYPES = [
  { title: "Components of the reward", pattern: /^rewards\/.+$/ },
  { title: "Success rate by type, in training", pattern: /^episode\/.+_success_rate$/ },
  { title: "Success rate by type, in validation", pattern: /^val\/.+_success_rate$/ },
];

/** The first groups, then every other metric: a group per first part of its name, a chart per stem. */
export function defaultGroups(names: readonly string[]): ChartGroup[] {
  const sorted = [...names].sort();
  const types = TYPES.map(({ title, pattern }) =>
    chart(title, ...sorted.filter((name) => pattern.test(name))),
  ).filter((each) => each.names.length > 0);
  const [learning, ...others] = FIRST as [ChartGroup, ...ChartGroup[]];
  const first = [{ ...learning, charts: [...learning.charts, ...types] }, ...others];
  const drawn = new Set(first.flatMap(({ charts }) => charts.flatMap((each) => each.names)));
  const stems = new Map<string, string[]>();
  for (const name of sorted) {
    const stem = stemOf(name);
    stems.set(stem, [...(stems.get(stem) ?? []), name]);
  }
  const groups = new Map<string, Chart[]>();
  for (const [stem, members] of stems) {
    if (members.every((name) => drawn.has(name))) continue;
    const [group] = stem.split("/") as [string];
    groups.set(group, [...(groups.get(group) ?? []), { title: stem, names: members }]);
  }
  return [...first, ...[...groups].map(([title, charts]) => ({ title, charts }))];
}

/** response_length/mean, /max and /min are one chart. */
function stemOf(name: string): string {
  return name.replace(/\/(mean|max|min)$/, "");
}
