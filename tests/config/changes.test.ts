/**
 * @file A run that goes on with another configuration: what changed is sorted by what it means, and what an earlier version
 * did not know is no change.
 */

import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { resolveConfig, runOptions } from "../../src/config/index.ts";

async function run(...overrides: string[]) {
  return (await runOptions(resolveConfig({ overrides }).config)).options.run;
}

/** What changed, with its kind. */
async function changes(before: string[], now: string[], alter: (tree: Tree) => void = () => {}) {
  const { identity, record } = await run(...before);
  const stored = JSON.parse(JSON.stringify(identity)) as Tree;
  alter(stored);
  const { changesSince } = await run(...now);
  const found = changesSince({
    identity: stored,
    record: alter.length > 0 ? stringify(stored) : record,
  });
  return found.map(({ path, before: old, after, kind }) => `${kind}: ${path} ${old} ${after}`);
}

type Tree = { [key: string]: Tree };

const MODEL = "actor_rollout_ref.model.path=models/one";

describe("what changed", () => {
  const CASES: [now: string, kind: string][] = [
    ["trainer.total_epochs=9", "harmless: trainer.total_epochs 1 9"],
    [
      "trainer.logger=[console,tensorboard]",
      'harmless: trainer.logger ["console"] ["console","tensorboard"]',
    ],
    ["trainer.threads=1", "harmless: trainer.threads null 1"],
    ["reward.seconds=7", "harmless: reward.seconds 120 7"],
    ["trainer.on_alarm=stop", 'harmless: trainer.on_alarm "continue" "stop"'],
    [
      "actor_rollout_ref.actor.optim.lr=0.5",
      "course: actor_rollout_ref.actor.optim.lr 0.000001 0.5",
    ],
    ["data.train_batch_size=4", "course: data.train_batch_size 16 4"],
    ["env.rollout.n=3", "course: env.rollout.n unset 3"],
    [
      "actor_rollout_ref.rollout.temperature=0.7",
      "course: actor_rollout_ref.rollout.temperature 1 0.7",
    ],
    [
      "actor_rollout_ref.model.path=models/two",
      'another run: actor_rollout_ref.model.path "models/one" "models/two"',
    ],
    ["env.env_name=maze", 'another run: env.env_name "household" "maze"'],
    ["env.options.size=9", "another run: env.options.size unset 9"],
    ["env.val_split=other", "another run: env.val_split"],
    ["reward.format=1", "another run: reward.format 0 1"],
    ["data.max_response_length=9", "another run: data.max_response_length"],
    ["algorithm.adv_estimator=rloo", "another run: algorithm.adv_estimator"],
    ["trainer.seed=3", "another run: trainer.seed 0 3"],
  ];
  it.each(CASES)("%s", async (now, expected) => {
    const found = await changes([MODEL], [MODEL, now]);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(expected);
  });

  it("nothing, where nothing did", async () => {
    expect(await changes([MODEL, "env.options.size=9"], [MODEL, "env.options.size=9"])).toEqual([]);
  });

  it("a setting that an earlier version did not have is no change as long as it is as usual", async () => {
    const older = (tree: Tree) => {
      delete (tree.trainer as Tree).max_kl;
      delete (tree.algorithm as Tree).filter_groups;
      delete tree.critic;
    };
    expect(await changes([MODEL], [MODEL], older)).toEqual([]);
    expect(await changes([MODEL], [MODEL, "trainer.max_kl=3"], older)).toEqual([
      "course: trainer.max_kl unset 3",
    ]);
  });

  it("one that there is no longer is none", async () => {
    const older = (tree: Tree) => {
      (tree.trainer as { gone: unknown }).gone = 4;
    };
    expect(await changes([MODEL], [MODEL], older)).toEqual([]);
  });

  it("each says what it means", async () => {
    const { identity, record } = await run(MODEL);
    const { changesSince } = await run(MODEL, "reward.format=1", "trainer.threads=2");
    const means = changesSince({ identity, record }).map(({ means }) => means);
    expect(means.join("\n")).toMatch(/another reward: the curve would be of two measures/);
    expect(means.join("\n")).toMatch(/the run is the same/);
  });
});
