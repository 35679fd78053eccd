/**
 * @file Episodes of a world's scripted expert, played through the same loop as a model's: what the model
 * learns from is in the very form in which it will act.
 */
import { type ReplyFormat, replyFormat } from "../../agents/index.ts";
import { agentOf, OptionError, type PlayOptions, type RunWorld } from "../../assembly/index.ts";
import {
  type AgentProgram,
  boundedEnvironment,
  type DistantExpert,
  expertsOf,
  seededRandom,
  type Task,
} from "../../environments/index.ts";
import { programExpertPolicy } from "../../gateway/index.ts";
import { byteChat, type Chat } from "../../models/index.ts";
import {
  collect,
  correctedPolicy,
  type ExpertWords,
  isTrainable,
  minimalWords,
  type Policy,
  rowsOf,
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
  if (world.world.program?.expert) return programEpisodes(world.world.program.expert, options);
  const expert = expertsOf(world.world);
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

/** Programs that an expert answers, at once. */
const PROGRAMS = 16;

/** Of a world whose episodes are programs: those that ended well with the expert's answers. */
async function programEpisodes(
  expert: NonNullable<AgentProgram["expert"]>,
  options: Pick<ExpertOptions, "world" | "chat" | "tasks" | "seed" | "contextLength"> &
    Partial<Pick<ExpertOptions, "play" | "onEpisode" | "signal">>,
): Promise<Trajectory[]> {
  const { world, chat, tasks, seed, contextLength } = options;
  const policy = programExpertPolicy(expert, chat, contextLength);
  try {
    const { all, account } = await collect({
      ...{ world: world.world, about: world.about, agent: agentOf({}), policy, tasks, seed },
      limits: { ...options.play?.limits, turns: world.turns },
      concurrency: PROGRAMS,
      retries: 0,
      ...(options.onEpisode && { onEpisode: options.onEpisode }),
      signal: options.signal,
    });
    const won = all.filter((episode) => episode.won);
    if (won.length === 0 && !options.signal?.aborted)
      throw new OptionError(
        `the expert of ${world.about.name} won none of ${all.length} episodes` +
          (account.errors[0] === undefined ? "" : ` (${account.errors[0]})`),
      );
    return won;
  } finally {
    await policy.close();
  }
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
  if (world.program) return programTexts(world.program, { world, turns, tasks, seed });
  const words = minimalWords(format);
  const environment = boundedEnvironment(world.name, world.environment());
  const experts = expertsOf(world);
  for (const [i, task] of tasks.entries()) {
    const actor = experts?.(seed + i) ?? atRandom(world.name, seed + i);
    let observation = await environment.reset(task);
    texts.push(observation.text);
    for (let turn = 0; turn < turns; turn++) {
      const action = await actor.act(observation);
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

/** What programs and their expert say to each other. */
async function programTexts(
  { expert }: AgentProgram,
  {
    world,
    turns,
    tasks,
    seed,
  }: Pick<RunWorld, "world" | "turns"> & Pick<ExpertOptions, "tasks" | "seed">,
): Promise<string[]> {
  if (!expert)
    throw new OptionError(
      `a tokenizer cannot be learned from ${world.name}: nobody answers its programs (\`expert\` of ` +
        "agentProgram); give it one, or use a model with a tokenizer",
    );
  const about = { name: world.name, summary: "" };
  const played = await programEpisodes(expert, {
    ...{ tasks, seed, chat: byteChat(), contextLength: LONGEST },
    world: { world, turns, about } as RunWorld,
  });
  const chat = byteChat();
  return played.flatMap((episode) =>
    rowsOf(episode).map((row) =>
      chat.tokenizer.decode(
        row.flatMap(({ promptIds, reply }) => [...promptIds, ...reply.ids]),
        {
          skipSpecialTokens: true,
        },
      ),
    ),
  );
}

/** Bytes of a program's episode at most. */
const LONGEST = 1_000_000;

/** Does anything that is admissible. */
function atRandom(world: string, seed: number): DistantExpert {
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
