/**
 * @file Episodes of a world's scripted expert, played through the same loop as a model's: what the model
 * learns from is in the very form in which it will act.
 */
import { type ReplyFormat, replyFormat } from "../../agents/index.ts";
import { agentOf, OptionError, type PlayOptions, type RunWorld } from "../../assembly/index.ts";
import { type Expert, seededRandom, type Task } from "../../environments/index.ts";
import type { Chat } from "../../models/index.ts";
import {
  collect,
  correctedPolicy,
  type ExpertWords,
  isTrainable,
  minimalWords,
  type Policy,
  scriptedPolicy,
  type Trajectory,
} from "../../rollout/index.ts";

export interface ExpertOptions {
  readonly play: PlayOptions;
  readonly world: RunWorld;
  readonly chat: Chat;
  readonly tasks: readonly Task[];
  readonly seed: number;
  /** Tokens that fit into the model. */
  readonly contextLength: number;
  /** The share of turns in which the expert makes a mistake; see scriptedPolicy. Default 0. */
  readonly mistakes?: number;
  /** How likely a mistake is tried again. Default 0. */
  readonly repeatMistakes?: number;
  /** The share of turns in which it acts at random; see scriptedPolicy. */
  readonly randomActions?: { readonly share: number; readonly allows: (action: string) => boolean };
  /** What the expert says besides its actions, in formats with more fields. */
  readonly words?: ExpertWords;
  /** A model that acts in a share of turns, in place of mistakes and random actions; see correctedPolicy. */
  readonly student?: { readonly policy: Policy; readonly share: number };
  readonly onEpisode?: (trajectory: Trajectory) => void;
  readonly signal?: AbortSignal | undefined;
}

/** Episodes at once where a model acts, too. */
const AT_ONCE = 64;

/** The episodes that the expert won; beside a model, all: what the expert said is right in any case. */
export async function expertEpisodes(options: ExpertOptions): Promise<Trajectory[]> {
  const { play, world, chat, tasks, seed } = options;
  const { expert } = world.world;
  if (!expert)
    throw new OptionError(
      `${world.about.name} has no scripted expert (\`expert\` of the world); give episodes of your own ` +
        "instead (sft --data FILE, or warmStart: { data })",
    );
  // It would never act at random, and nobody would know why the model has seen only perfect play.
  if ((options.randomActions || options.student) && !expert(seed).acted)
    throw new OptionError(
      `the expert of ${world.about.name} cannot go on after actions that are not its own; give it ` +
        "`acted(action)`, or leave out random actions and a model that acts (randomActions, dagger)",
    );
  const agent = agentOf(play.agent);
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
        ...(options.randomActions && { randomActions: { ...options.randomActions, seed } }),
        ...(options.mistakes && {
          mistakes: { share: options.mistakes, seed, repeat: options.repeatMistakes ?? 0 },
        }),
      });
  const { all } = await collect({
    world: world.world,
    about: world.about,
    agent,
    policy,
    limits: { ...play.limits, turns: world.turns },
    tasks,
    seed,
    // One after the other: which expert plays which task must not depend on who is first. (Beside a model
    // it follows from the episode's name.)
    concurrency: options.student ? AT_ONCE : 1,
    ...(options.onEpisode && { onEpisode: options.onEpisode }),
    signal: options.signal,
  });
  return options.student ? all.filter(isTrainable) : all.filter(({ won }) => won);
}

/**
 * The words of a world, for a tokenizer to learn from: what its expert sees and says. In a world without an
 * expert, what is seen by somebody who does anything that is admissible.
 */
export async function worldTexts(
  { world, turns }: RunWorld,
  tasks: readonly Task[],
  seed: number,
  format: ReplyFormat = replyFormat("action"),
): Promise<string[]> {
  const texts: string[] = [];
  const words = minimalWords(format);
  const environment = world.environment();
  for (const [i, task] of tasks.entries()) {
    const actor = world.expert?.(seed + i) ?? atRandom(world.name, seed + i);
    let observation = await environment.reset(task);
    texts.push(observation.text);
    for (let turn = 0; turn < turns; turn++) {
      const action = actor.act(observation);
      const result = await environment.step(action);
      texts.push(format.write(action, words(observation, action, turn, actor.thought?.())));
      texts.push(result.observation.text);
      if (result.done) break;
      observation = result.observation;
    }
  }
  await environment.close?.();
  return texts;
}

/** Does anything that is admissible. */
function atRandom(world: string, seed: number): Expert {
  const random = seededRandom("world texts", seed);
  return {
    act({ admissible }) {
      if (admissible && admissible.length > 0) return random.pick(admissible);
      throw new OptionError(
        `a tokenizer cannot be learned from ${world}: it has neither a scripted expert (\`expert\`) nor ` +
          "a list of actions (`actions`); give it one of them, or use a model with a tokenizer",
      );
    },
  };
}
