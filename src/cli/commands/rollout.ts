/**
 * @file `openmanus-rl rollout`: a model or an expert plays tasks of a world; how often it wins, and its
 * trajectories.
 */
import { join } from "node:path";
import {
  type ExampleOptions,
  exampleMessages,
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
import {
  type EpisodeFacts,
  episodeFacts,
  type SuccessTable,
  successRates,
  successReport,
} from "../../evaluation/index.ts";
import { diskSentence, makeFolder, ownedFolder, writeJson } from "../../folders/index.ts";
import { audienceOf, fetchedModel, withRanks } from "../../library/index.ts";
import { ModelFileError, modelFolderOf } from "../../models/index.ts";
import { keyAt } from "../../network/index.ts";
import {
  appendFindings,
  type CollectOptions,
  collect,
  FINDINGS_FILE,
  type Findings,
  mergeAccounts,
  type ReplyRequest,
  type RolloutAccount,
  type SearchFindings,
  type Trajectory,
  type TrajectoryStore,
  type WorldFacts,
} from "../../rollout/index.ts";
import { ownShare, type Ranks, requireSameOnRanks } from "../../training/index.ts";
import { ROLLOUT_HELP, type RolloutOptions, rolloutOptions } from "../arguments/rollout-options.ts";
import { UsageError } from "../arguments/usage.ts";
import { opened } from "../arguments/world.ts";
import type { Command } from "../main.ts";
import { interruptible } from "../support/interrupt.ts";
import { print, printError } from "../support/print.ts";
import { rolloutProgress } from "../support/rollout-progress.ts";
import { emptyStore } from "../support/stores.ts";

export const rollout: Command = {
  help: ROLLOUT_HELP,
  async run(given) {
    const options = await withFetchedModels(rolloutOptions(given));
    const { isolate, stepSeconds } = options;
    const { definition, world } = await opened(options.world, options.worldOptions, {
      isolate,
      stepSeconds,
    });
    try {
      const tasks = await firstTasks(world, options);
      const { how, examples } = await playOptions(options);
      const player = openPlayer(options, how, world);
      try {
        const about = await aboutWorld(definition, world, examples);
        const setting = collectOptions(options, how, { definition, world, about }, player, tasks);
        return options.dryRun
          ? await showPrompt(options, setting)
          : await withRanks((ranks) => play(options, setting, player, ranks));
      } finally {
        await player.close();
      }
    } finally {
      await world.close?.();
    }
  },
};

/** Models that are named as on the Hub are here then; what a server calls its own is not asked for. */
async function withFetchedModels(options: RolloutOptions): Promise<RolloutOptions> {
  const audience = audienceOf({ progress: process.stderr });
  const fetched = async (place: string | undefined) =>
    place === undefined ? undefined : modelFolderOf(await fetchedModel(place, audience));
  const { model, tokenizer, server } = options;
  return {
    ...options,
    model: server === undefined ? await fetched(model) : model,
    tokenizer: await fetched(tokenizer),
  };
}

/** Tokens of a reply, of models that do not say it themselves. */
const REPLY_TOKENS = 256;

/** The form in which a model was trained, as `eval` has it, and what was said otherwise. */
async function playOptions(
  options: RolloutOptions,
): Promise<{ how: PlayOptions; examples: ExampleOptions | undefined }> {
  const { model, server, choices, temperature, topK, topP, seed } = options;
  const base = model !== undefined && server === undefined ? formOf(model) : {};
  const lengths = { data: { max_response_length: REPLY_TOKENS }, ...base };
  const { play, world } = await resolvePlay(choices, lengths);
  return {
    how: { ...play, evaluation: { temperature, topK, topP }, seed },
    examples: world.examples,
  };
}

/** What is wrong with a model's place, a server's address or a format is the caller's to put right. */
function openPlayer(options: RolloutOptions, how: PlayOptions, world: World): Player {
  const { model, server, tokenizer, viaText } = options;
  try {
    if (options.expert) return expertPlayer(world, how, model);
    if (server === undefined) return folderPlayer(model!, how);
    const { serverTimeout: timeout, serverRetries: retries } = options;
    return serverPlayer(
      {
        ...{ baseUrl: server, model: model!, tokenizer, viaText, apiKey: keyOf(options) },
        ...{ timeout, retries },
      },
      how,
    );
  } catch (error) {
    if (error instanceof OptionError) throw new UsageError(error.message);
    if (error instanceof ModelFileError || error instanceof UsageError) throw error;
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** What is wrong is said without what was given: it may be the key itself. */
function keyOf({ key, keyVariable }: RolloutOptions): string | undefined {
  if (key !== undefined) return keyAt("--key", key);
  if (keyVariable === undefined) return undefined;
  const found = process.env[keyVariable];
  if (found) return found;
  throw new UsageError(
    "--key-variable takes the name of a variable, and there is none of that name.",
  );
}

async function firstTasks(world: World, { split, tasks }: RolloutOptions): Promise<Task[]> {
  const set = await world.tasks(split ?? world.splits[0]!);
  const count = Math.min(tasks, set.length);
  return Array.from({ length: count }, (_, index) => set.task(index));
}

/** What the agent is told of its world, with the examples that it is shown. */
async function aboutWorld(
  definition: WorldDefinition,
  world: World,
  examples: ExampleOptions | undefined,
): Promise<WorldFacts> {
  const about = worldFacts(definition, world);
  if (!examples) return about;
  const [trainSplit] = world.splits;
  const played = { world, about, turns: definition.maximumSteps, trainSplit: trainSplit! };
  return { ...about, examples: await exampleMessages(played, examples) };
}

interface KnownWorld {
  readonly definition: WorldDefinition;
  readonly world: World;
  readonly about: WorldFacts;
}

function collectOptions(
  options: RolloutOptions,
  how: PlayOptions,
  { definition, world, about }: KnownWorld,
  { policy, agent }: Player,
  tasks: readonly Task[],
): CollectOptions {
  const { episodes, seed, concurrency, retries } = options;
  return {
    ...{ world, about, policy, agent, tasks, members: episodes, seed, concurrency, retries },
    search: how.search,
    limits: {
      ...how.limits,
      turns: options.turns ?? definition.maximumSteps,
      seconds: options.timeout,
      stepSeconds: options.stepSeconds,
    },
  };
}

async function play(
  options: RolloutOptions,
  setting: CollectOptions,
  player: Player,
  ranks: Ranks,
): Promise<number> {
  requireSameOnRanks(ranks, "tasks or settings", {
    ...described(options, player.agent),
    tasks: setting.tasks.map(({ id }) => id),
  });
  const own = ownShare(setting.tasks, ranks);
  const store = options.out === undefined || !ranks.isFirst ? undefined : newStore(options.out);
  const progress = rolloutProgress(ranks.isFirst ? own.length * options.episodes : 0);
  const places = new Map(setting.tasks.map(({ id }, place) => [id, place]));
  /** What the table needs, and what puts it into order: episodes themselves may be millions. */
  const found: { order: [place: number, group: string, member: number]; facts: EpisodeFacts }[] =
    [];
  /** Of ranks other than 0, which stores what all have played. */
  const toSend: Trajectory[] = [];
  const onEpisode = (trajectory: Trajectory) => {
    if (store) append(store, trajectory);
    if (!ranks.isFirst && options.out !== undefined) toSend.push(trajectory);
    if (ranks.isFirst) progress.episode(trajectory);
    const { task, group, member } = trajectory;
    found.push({ order: [places.get(task.id)!, group, member], facts: episodeFacts(trajectory) });
  };
  const findings: SearchFindings[] = [];
  const onFindings = ({ id }: Task, found: Findings) => {
    const { context } = player.agent;
    const { fingerprint: tokenizer } = player.policy.chat.tokenizer;
    if (options.out !== undefined && found.values.length > 0)
      findings.push({ task: id, context, tokenizer, ...found });
  };
  let account: RolloutAccount;
  try {
    ({ account } = await interruptible((signal) =>
      collect({
        ...setting,
        tasks: own,
        earlier: own.map(() => 0),
        signal: AbortSignal.any([signal, ranks.lost]),
        onEpisode,
        onFindings,
        keep: false,
      }),
    ));
    const accounts = ranks.gather(account);
    // They played beside each other.
    const seconds = Math.max(...accounts.map((one) => one.seconds));
    account = { ...mergeAccounts(accounts), seconds };
    const sent = ranks.toFirst(toSend).slice(1).flat();
    if (store) for (const trajectory of sent) append(store, trajectory);
    const known = ranks.toFirst(findings).flat();
    known.sort((a, b) => places.get(a.task)! - places.get(b.task)!);
    for (const one of known) appendFindings(join(options.out!, FINDINGS_FILE), one);
  } finally {
    progress.end();
    store?.close();
  }
  // Sums of fractions depend on their order, and which episode ended first on the machine.
  const all = ranks.gather(found).flat();
  if (!ranks.isFirst) return account.leftOut === account.episodes ? 1 : 0;
  all.sort(({ order: [a, x, i] }, { order: [b, y, k] }) => a - b || x.localeCompare(y) || i - k);
  const table = successRates(all.map(({ facts }) => facts));
  const facts = { world: setting.about.name, ...described(options, player.agent), table, account };
  if (options.out !== undefined)
    writeJson(join(options.out, "rollout.json"), {
      ...facts,
      tokenizer: player.tokenizer ?? null,
    });
  print(options.json ? JSON.stringify(facts, null, 2) : report(table, account, options));
  return account.leftOut === account.episodes ? 1 : 0;
}

/** A rollout that ended before its end is not gone on with. */
function append(store: TrajectoryStore, trajectory: Trajectory): void {
  try {
    store.append(trajectory);
  } catch (error) {
    throw diskSentence(error, "remove this folder, or choose another, and run the command again");
  }
}

/** A folder that has trajectories already is not mixed with others. */
function newStore(folder: string): TrajectoryStore {
  makeFolder(folder);
  const owned = ownedFolder(folder, "rollout");
  owned.claim(["trajectories", "rollout.json", FINDINGS_FILE]);
  return emptyStore(join(folder, "trajectories"), folder);
}

/** The settings that a rollout's numbers depend on. */
function described(options: RolloutOptions, agent: Player["agent"]): object {
  const { expert, model, server, split, temperature, topP, topK, seed, turns } = options;
  return {
    player: expert ? "expert" : { model, server },
    ...{ split, temperature, topP, topK, turns, seed },
    ...{ format: agent.format.name, context: agent.context, constrain: isConstrained(options) },
    ...(options.choices.search && { search: options.choices.search }),
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
    printError(`openmanus-rl rollout: ${account.errors[0] ?? "the first prompt is too long"}`);
    return 1;
  }
  const ids = [...seen.prompt];
  const text = setting.policy.chat.tokenizer.decode(ids);
  const { messages } = seen;
  print(options.json ? JSON.stringify({ text, ids, messages, tokens: ids.length }, null, 2) : text);
  return 0;
}

function isConstrained({ choices }: RolloutOptions): boolean {
  return choices.constrain ?? false;
}
