/**
 * @file Episodes of a world's scripted expert, played through the same loop as a model's: what the model
 * learns from is in the very form in which it will act.
 */
import type { Config } from "../../config/index.ts";
import type { Task } from "../../environments/index.ts";
import { agentOf, type ConfiguredWorld, limitsOf, summarizerOf } from "../../evaluation/index.ts";
import type { Chat } from "../../models/index.ts";
import { collect, type ExpertWords, scriptedPolicy, type Trajectory } from "../../rollout/index.ts";

export interface ExpertOptions {
  readonly config: Config;
  readonly world: ConfiguredWorld;
  readonly chat: Chat;
  readonly tasks: readonly Task[];
  readonly seed: number;
  /** Tokens that fit into the model. */
  readonly contextLength: number;
  /** The share of turns in which the expert slips; see scriptedPolicy. Default 0. */
  readonly slips?: number;
  /** How much the expert wanders; see scriptedPolicy. */
  readonly wanders?: { readonly share: number; readonly allows: (action: string) => boolean };
  /** What the expert says besides its actions, in formats with more fields. */
  readonly words?: ExpertWords;
}

/** The episodes that the expert won. */
export async function expertEpisodes(options: ExpertOptions): Promise<Trajectory[]> {
  const { config, world, chat, tasks, seed } = options;
  const { expert } = world.world;
  if (!expert)
    throw new Error(`${world.about.name} has no scripted expert; give episodes with --data FILE`);
  const agent = agentOf(config, summarizerOf(config, undefined));
  let begun = 0;
  const policy = scriptedPolicy({
    chat,
    format: agent.format,
    expert: () => expert(seed + begun++),
    contextLength: options.contextLength,
    ...(options.words && { words: options.words }),
    ...(options.wanders && { wanders: { ...options.wanders, seed } }),
    ...(options.slips && { slips: { share: options.slips, seed } }),
  });
  const { all } = await collect({
    world: world.world,
    about: world.about,
    agent,
    policy,
    limits: limitsOf(config, world.turns),
    tasks,
    seed,
    // One after the other: which expert plays which task must not depend on who is first.
    concurrency: 1,
  });
  return all.filter(({ won }) => won);
}

/** The words of a world, for a tokenizer to learn from: what experts see and do. */
export async function worldTexts(
  { world, turns }: ConfiguredWorld,
  tasks: readonly Task[],
  seed: number,
): Promise<string[]> {
  if (!world.expert) throw new Error(`${world.name} has no scripted expert to learn words from`);
  const texts: string[] = [];
  const environment = world.environment();
  for (const [i, task] of tasks.entries()) {
    const expert = world.expert(seed + i);
    let observation = await environment.reset(task);
    texts.push(observation.text);
    for (let turn = 0; turn < turns; turn++) {
      const action = expert.act(observation);
      const result = await environment.step(action);
      texts.push(action, result.observation.text);
      if (result.done) break;
      observation = result.observation;
    }
  }
  await environment.close?.();
  return texts;
}
