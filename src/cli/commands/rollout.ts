/**
 * @file `openmanus-rl rollout`: a model or an expert plays tasks of a world; how often it wins, and its
 * trajectories.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  expertPlayer,
  folderPlayer,
  OptionError,
  type Player,
  type PlayOptions,
  serverPlayer,
  worldFacts,
} from "../../assembly/index.ts";
import { formOf, resolvePlay } from "../../config/index.ts";
import type { Task, World, WorldDefinition } from "../../environments/index.ts";
import { type SuccessTable, successReport, successTable } from "../../evaluation/index.ts";
import { ModelFileError } from "../../models/index.ts";
import {
  type Collection,
  type CollectOptions,
  collect,
  openTrajectoryStore,
  type ReplyRequest,
  type RolloutAccount,
  type Trajectory,
  type TrajectoryStore,
} from "../../rollout/index.ts";
import { ROLLOUT_HELP, type RolloutOptions, rolloutOptions } from "../arguments/rollout-options.ts";
import { UsageError } from "../arguments/usage.ts";
import { opened } from "../arguments/world.ts";
import type { Command } from "../main.ts";
import { interruptible } from "../support/interrupt.ts";
import { rolloutProgress } from "../support/rollout-progress.ts";

export const rollout: Command = {
  help: ROLLOUT_HELP,
  async run(given) {
    const options = rolloutOptions(given);
    const { definition, world } = await opened(options.world, options.worldOptions);
    try {
      const tasks = await firstTasks(world, options);
      const how = await playOptions(options);
      const player = openPlayer(options, how, world);
      try {
        const setting = collectOptions(options, how, definition, world, player, tasks);
        return options.dryRun
          ? await showPrompt(options, setting)
          : await play(options, setting, player);
      } finally {
        await player.close();
      }
    } finally {
      await world.close?.();
    }
  },
};

/** Tokens of a reply, of models that do not say it themselves. */
const REPLY_TOKENS = 256;

/** The form in which a model was trained, as `eval` has it, and what was said otherwise. */
async function playOptions(options: RolloutOptions): Promise<PlayOptions> {
  const { model, server, choices, temperature, topK, topP, seed } = options;
  const base = model !== undefined && server === undefined ? formOf(model) : {};
  const lengths = { data: { max_response_length: REPLY_TOKENS }, ...base };
  const { play } = await resolvePlay(choices, lengths);
  return { ...play, evaluation: { temperature, topK, topP }, seed };
}

/** What is wrong with a model's place, a server's address or a format is the caller's to put right. */
function openPlayer(options: RolloutOptions, how: PlayOptions, world: World): Player {
  const { model, server, tokenizer, viaText } = options;
  try {
    if (options.expert) return expertPlayer(world, how, model);
    if (server === undefined) return folderPlayer(model!, how);
    return serverPlayer(
      { baseUrl: server, model: model!, tokenizer, viaText, apiKey: keyOf(options) },
      how,
    );
  } catch (error) {
    if (error instanceof OptionError) throw new UsageError(error.message);
    if (error instanceof ModelFileError || error instanceof UsageError) throw error;
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function keyOf({ keyVariable }: RolloutOptions): string | undefined {
  if (keyVariable === undefined) return undefined;
  const key = process.env[keyVariable];
  if (!key) throw new UsageError(`the environment variable ${keyVariable} is not set.`);
  return key;
}

async function firstTasks(world: World, { split, tasks }: RolloutOptions): Promise<Task[]> {
  const set = await world.tasks(split ?? world.splits[0]!);
  const count = Math.min(tasks, set.length);
  return Array.from({ length: count }, (_, index) => set.task(index));
}

function collectOptions(
  options: RolloutOptions,
  how: PlayOptions,
  definition: WorldDefinition,
  world: World,
  { policy, agent }: Player,
  tasks: readonly Task[],
): CollectOptions {
  const { episodes, seed, concurrency, retries } = options;
  return {
    ...{ world, policy, agent, tasks, members: episodes, seed, concurrency, retries },
    about: worldFacts(definition, world),
    limits: {
      ...how.limits,
      turns: options.turns ?? definition.maximumSteps,
      seconds: options.timeout,
    },
  };
}

async function play(
  options: RolloutOptions,
  setting: CollectOptions,
  player: Player,
): Promise<number> {
  const store = options.out === undefined ? undefined : newStore(options.out);
  const progress = rolloutProgress(setting.tasks.length * options.episodes);
  const onEpisode = (trajectory: Trajectory) => {
    store?.append(trajectory);
    progress.episode(trajectory);
  };
  let collection: Collection;
  try {
    collection = await interruptible((signal) => collect({ ...setting, signal, onEpisode }));
  } finally {
    progress.end();
    store?.close();
  }
  const { all, account } = collection;
  const table = successTable(all);
  const facts = { world: setting.about.name, ...described(options, player.agent), table, account };
  if (options.out !== undefined)
    writeFileSync(
      join(options.out, "rollout.json"),
      `${JSON.stringify({ ...facts, tokenizer: player.tokenizer ?? null }, null, 2)}\n`,
    );
  console.log(options.json ? JSON.stringify(facts, null, 2) : report(table, account, options));
  return account.leftOut === account.episodes ? 1 : 0;
}

/** A folder that has trajectories already is not mixed with others. */
function newStore(folder: string): TrajectoryStore {
  mkdirSync(folder, { recursive: true });
  const store = openTrajectoryStore(join(folder, "trajectories"));
  if (store.episodes().length === 0) return store;
  store.close();
  throw new UsageError(`${folder} has trajectories already; choose another folder, or remove it.`);
}

/** The settings that a rollout's numbers depend on. */
function described(options: RolloutOptions, agent: Player["agent"]): object {
  const { expert, model, server, split, temperature, topP, topK, seed, turns } = options;
  return {
    player: expert ? "expert" : { model, server },
    ...{ split, temperature, topP, topK, turns, seed },
    ...{ format: agent.format.name, context: agent.context, constrain: isConstrained(options) },
  };
}

function report(table: SuccessTable, account: RolloutAccount, options: RolloutOptions): string {
  const { turns, sampledTokens, seconds, retries, errors } = account;
  const rate = (count: number) => (count / Math.max(seconds, 1e-9)).toFixed(1);
  return [
    successReport(table),
    `took: ${seconds.toFixed(1)} s, ${turns} turns (${rate(turns)}/s), ` +
      `${sampledTokens} tokens of replies (${rate(sampledTokens)}/s)` +
      (retries > 0 ? `, ${retries} begun again` : ""),
    ...errors.map((error) => `! ${error}`),
    ...(isConstrained(options) ? ["! Only admissible actions could be drawn (--constrain)."] : []),
    ...(options.out === undefined
      ? []
      : [`trajectories: openmanus-rl trajectories list ${options.out}`]),
  ].join("\n");
}

/** The first prompt, by the loop that plays: the policy only looks at it. */
async function showPrompt(options: RolloutOptions, setting: CollectOptions): Promise<number> {
  let seen: ReplyRequest | undefined;
  const policy = {
    ...setting.policy,
    reply(request: ReplyRequest): never {
      seen = request;
      throw new Error("this was only to see the prompt");
    },
  };
  const { account } = await collect({
    ...setting,
    ...{ policy, tasks: setting.tasks.slice(0, 1), members: 1, retries: 0 },
  });
  if (!seen) {
    console.error(`openmanus-rl rollout: ${account.errors[0] ?? "the first prompt is too long"}`);
    return 1;
  }
  const ids = [...seen.prompt];
  const text = setting.policy.chat.tokenizer.decode(ids);
  const { messages } = seen;
  console.log(
    options.json ? JSON.stringify({ text, ids, messages, tokens: ids.length }, null, 2) : text,
  );
  return 0;
}

function isConstrained({ choices }: RolloutOptions): boolean {
  return choices.constrain ?? false;
}
