/**
 * @file A tiny policy for small mazes that can read where it is and how moves are written, and often goes
 * astray: warmed up on episodes of an explorer that walks at random half of the time.
 *
 * A walker that is only random would teach it to look away from what it sees, and no gradient would lead
 * back in the time that a test has.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { agentOf, openRunWorld } from "../../../src/assembly/index.ts";
import { type Config, resolveConfig, runOptions } from "../../../src/config/index.ts";
import { seededRandom } from "../../../src/environments/index.ts";
import { initModelFolder, loadModel, presetConfig, saveModel } from "../../../src/models/index.ts";
import { collect, scriptedPolicy, type Trajectory } from "../../../src/rollout/index.ts";
import { examplesOf, fineTune, taskOrder } from "../../../src/training/index.ts";
import { openChat } from "./runs.ts";

const MOVES = ["move up", "move down", "move left", "move right"];

/** What every run in the maze has in common. */
export function mazeConfig(model: string, run: string, own: readonly string[] = []): Config {
  const overrides = [
    `actor_rollout_ref.model.path=${model}`,
    "env.env_name=maze",
    "env.options.winReward=10",
    "env.max_steps=16",
    "env.prompts=bare",
    "env.show_admissible=False",
    "data.max_response_length=5",
    "data.train_batch_size=8",
    "env.rollout.n=8",
    "data.val_batch_size=25",
    "actor_rollout_ref.rollout.val_kwargs.n=4",
    "actor_rollout_ref.rollout.val_kwargs.temperature=1",
    "actor_rollout_ref.actor.ppo_mini_batch_size=16",
    "actor_rollout_ref.actor.optim.lr=1e-3",
    "actor_rollout_ref.actor.optim.weight_decay=0",
    "actor_rollout_ref.actor.entropy_coeff=0.02",
    "trainer.val_before_train=True",
    "trainer.threads=1",
    "trainer.save_freq=-1",
    "trainer.keep_trajectories=False",
    "trainer.min_entropy=0",
    `trainer.default_local_dir=${run}`,
    ...own,
  ];
  return resolveConfig({ overrides }).config;
}

async function walks(
  config: Config,
  folder: string,
  count: number,
): Promise<readonly Trajectory[]> {
  const { play, world: where } = await runOptions(config);
  const world = await openRunWorld(where);
  const agent = agentOf(play.agent);
  const { all } = await collect({
    world: world.world,
    about: world.about,
    agent,
    policy: scriptedPolicy({
      chat: openChat(folder),
      format: agent.format,
      expert: (episode) => {
        const random = seededRandom("walk", episode);
        const explorer = world.world.expert!(1);
        return {
          act(observation) {
            const move = explorer.act(observation);
            return random.chance(0.5) ? random.pick(MOVES) : move;
          },
        };
      },
    }),
    limits: { ...play.limits, turns: world.turns },
    tasks: taskOrder(await world.world.tasks("train"), 1, true).next(count),
    seed: 1,
  });
  return all;
}

/** Makes the warm model's folder, where it is not there. `sizes`: other than the preset's. */
export async function warmWalker(
  parent: string,
  sizes: Partial<ReturnType<typeof presetConfig>> = {},
): Promise<string> {
  const [folder, warm] = [join(parent, "maze-new"), join(parent, "maze-warm")];
  if (existsSync(warm)) return warm;
  const positions = Array.from(
    { length: 9 },
    (_, i) => `position ${i}, ${8 - i}. position ${i}, 1.`,
  );
  const texts = Array.from({ length: 8 }, () => [
    "The goal is at position 8, 6. Your current position is at position 1, 1.",
    "There are walls to your left, to your right, above you, below you. Success",
    'Your task: Find the way through the maze to the goal in as few steps as you can. A position is a row, counted downwards, and a column, counted to the right. Your actions are "move up", "move down", "move left" and "move right"; a wall stops you.',
    ...positions,
    ...MOVES,
  ]).flat();
  // As in runs.ts: small models need larger weights to begin with.
  const config = { ...presetConfig("tiny", { family: "qwen3" }), initializerRange: 0.08, ...sizes };
  initModelFolder(folder, { config, texts, vocabularySize: 400, numbers: "joined", seed: 1 });
  const model = loadModel(folder);
  try {
    const played = await walks(mazeConfig(folder, "unused"), folder, 120);
    await fineTune(model, played.flatMap(examplesOf), {
      epochs: 4,
      lr: 3e-3,
      batchSize: 2,
      weightDecay: 0,
      seed: 0,
    });
    saveModel(model, warm, { tokenizerFolder: folder });
  } finally {
    model.dispose();
  }
  return warm;
}
