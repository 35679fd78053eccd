/**
 * @file Episodes of a world's scripted expert, played through the same loop as a model's: what the model
 * learns from is in the very form in which it will act.
 */
import { type ReplyFormat, replyFormat } from "../../agents/index.ts";
import type { Config } from "../../config/index.ts";
import { seededRandom, type Task } from "../../environments/index.ts";
import { agentOf, type ConfiguredWorld, limitsOf, summarizerOf } from "../../evaluation/index.ts";
import type { Chat } from "../../models/index.ts";
import {
  collect,
  correctedPolicy,
  type ExpertWords,
  fewWords,
  isTrainable,
  type Policy,
  scriptedPolicy,
  type Trajectory,
} from "../../rollout/index.ts";

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
  /** How likely a slip is tried again. Default 0. */
  readonly again?: number;
  /** How much the expert wanders; see scriptedPolicy. */
  readonly wanders?: { readonly share: number; readonly allows: (action: string) => boolean };
  /** What the expert says besides its actions, in formats with more fields. */
  readonly words?: ExpertWords;
  /** A model that acts in a share of turns, in place of slips and wandering; see correctedPolicy. */
  readonly student?: { readonly policy: Policy; readonly share: number };
}

/** Episodes at once where a model acts, too. */
const AT_ONCE = 64;

/** The episodes that the expert won; beside a model, all: what the expert said is right in any case. */
export async function expertEpisodes(options: ExpertOptions): Promise<Trajectory[]> {
  const { config, world, chat, tasks, seed } = options;
  const { expert } = world.world;
  if (!expert)
    throw new Error(`${world.about.name} has no scripted expert; give episodes with --data FILE`);
  const agent = agentOf(config, summarizerOf(config, undefined));
  let begun = 0;
  const policy = options.student
    ? correctedPolicy({
        student: options.student.policy,
        share: options.student.share,
        format: agent.format,
        expert: (episode) => expert(seededRandom("expert", seed, episode).integer(2 ** 31)),
        seed,
      })
    : scriptedPolicy({
        chat,
        format: agent.format,
        expert: () => expert(seed + begun++),
        contextLength: options.contextLength,
        ...(options.words && { words: options.words }),
        ...(options.wanders && { wanders: { ...options.wanders, seed } }),
        ...(options.slips && { slips: { share: options.slips, seed, again: options.again ?? 0 } }),
      });
  const { all } = await collect({
    world: world.world,
    about: world.about,
    agent,
    policy,
    limits: limitsOf(config, world.turns),
    tasks,
    seed,
    // One after the other: which expert plays which task must not depend on who is first. (Beside a model
    // it follows from the episode's name.)
    concurrency: options.student ? AT_ONCE : 1,
  });
  return options.student ? all.filter(isTrainable) : all.filter(({ won }) => won);
}

/** The words of a world, for a tokenizer to learn from: what experts see and say. */
export async function worldTexts(
  { world, turns }: ConfiguredWorld,
  tasks: readonly Task[],
  seed: number,
  format: ReplyFormat = replyFormat("action"),
): Promise<string[]> {
  if (!world.expert) throw new Error(`${world.name} has no scripted expert to learn words from`);
  const texts: string[] = [];
  const words = fewWords(format);
  const environment = world.environment();
  for (const [i, task] of tasks.entries()) {
    const expert = world.expert(seed + i);
    let observation = await environment.reset(task);
    texts.push(observation.text);
    for (let turn = 0; turn < turns; turn++) {
      const action = expert.act(observation);
      const result = await environment.step(action);
      texts.push(format.write(action, words(observation, action, turn, expert.thought?.())));
      texts.push(result.observation.text);
      if (result.done) break;
      observation = result.observation;
    }
  }
  await environment.close?.();
  return texts;
}
