/**
 * @file The work of the speculation benchmark: a model that has learned to play the household, because
 * nothing can be guessed of random weights, and rollouts of groups as training makes them.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { modelPlayer, openRunWorld, type RunWorld } from "../src/assembly/index.ts";
import { formOf, type Resolved, resolveTraining } from "../src/config/index.ts";
import type { EngineStatistics } from "../src/generation/index.ts";
import { type Chat, loadChat, loadModel, type Model } from "../src/models/index.ts";
import { collect } from "../src/rollout/index.ts";

/** A model folder to measure instead of the one that is made here. */
const FOLDER = process.env.OPENMANUS_BENCH_MODEL;
const HOUSEHOLD = {
  env_name: "household",
  options: {
    ...{ difficulty: "easy", types: ["pick_and_place_simple"], receptacles: 5, objects: 6 },
  },
  format: "react",
};
const WORDS = [
  "env.env_name=household",
  "env.options.difficulty=easy",
  "env.options.types=[pick_and_place_simple]",
  "env.options.receptacles=5",
  "env.options.objects=6",
  "env.format=react",
  "env.prompts=bare",
];
const LEARNING = [
  ...["--episodes", "1200", "--epochs", "1", "--lr", "2e-3", "--batch", "4", "--mistakes", "0.05"],
];
/** In which a trained model's folder says how it plays. */
const NOTE = "openmanus-rl.json";
const TURNS = 6;
/** Of a reply: a thought and a command. */
const REPLY_TOKENS = 48;

export interface SpeculationWorkload {
  readonly model: Model;
  readonly chat: Chat;
  readonly world: RunWorld;
  readonly play: Resolved["play"];
  readonly about: string;
}

export async function openSpeculationWorkload(): Promise<SpeculationWorkload> {
  const parent = mkdtempSync(join(tmpdir(), "openmanus-bench-"));
  try {
    const folder = FOLDER ?? warmFolder(parent);
    // A model that has not learned the form is shown an episode.
    const shown = existsSync(join(folder, NOTE)) ? {} : { examples: 1 };
    const settings = {
      env: { ...HOUSEHOLD, ...shown },
      data: { max_response_length: REPLY_TOKENS },
    };
    const form = formOf(folder, settings);
    const { play, world } = await resolveTraining({ settings }, folder, form);
    const model = loadModel(folder);
    for (const parameter of model.parameters.values()) parameter.requiresGrad_(false);
    const about = FOLDER ? "the given model" : `small, sft ${LEARNING.join(" ")}`;
    return { model, chat: loadChat(folder), world: await openRunWorld(world), play, about };
  } finally {
    rmSync(parent, { recursive: true });
  }
}

/** Some minutes: a small model that writes the household's commands. */
function warmFolder(parent: string): string {
  const command = fileURLToPath(new URL("../bin/openmanus-rl.mjs", import.meta.url));
  const [fresh, warm] = [join(parent, "new"), join(parent, "warm")];
  const run = (...words: string[]) =>
    execFileSync(process.execPath, [command, ...words], { stdio: ["ignore", "ignore", "inherit"] });
  run(
    "model",
    "init",
    fresh,
    "--preset",
    "small",
    "--matching",
    "--numbers",
    "named",
    "--tasks",
    "200",
    ...WORDS,
  );
  run("sft", "--preset", "small-model", "--model", fresh, "--out", warm, ...LEARNING, ...WORDS);
  return warm;
}

export interface Played {
  readonly seconds: number;
  /** Of the processor: on a machine that does other things, these count. */
  readonly cpuSeconds: number;
  readonly sampledTokens: number;
  readonly statistics: EngineStatistics;
  /** Ids and log-probabilities of all replies. */
  readonly replies: string;
}

export interface Player {
  /** One rollout of an iteration: groups of eight, so many episodes at once. */
  play(iteration: number): Promise<Played>;
  close(): Promise<void>;
}

/** An engine, as long as a training has it. */
export function newPlayer(
  { model, chat, world, play }: SpeculationWorkload,
  options: { speculation: boolean; episodes: number; atOnce: number },
): Player {
  const { speculation, episodes, atOnce } = options;
  const player = modelPlayer(model, chat, {
    ...play,
    engine: { ...play.engine, speculation },
  });
  const policy = player.drawing({ temperature: 1, topK: 0, topP: 1 });
  return {
    async play(iteration) {
      const set = await world.namedTasks(world.trainSplit);
      const members = Math.min(8, episodes);
      // As training that sees its tasks again: the same ones in every iteration.
      const tasks = Array.from({ length: episodes / members }, (_, i) => set.task(i));
      const before = { ...player.engine.statistics };
      const begun = performance.now();
      const cpu = process.cpuUsage();
      const { all, account } = await collect({
        ...{ world: world.world, about: world.about, agent: player.agent, policy, tasks, members },
        ...{ seed: 1, step: iteration, concurrency: atOnce, limits: { turns: TURNS } },
      });
      const seconds = (performance.now() - begun) / 1000;
      const used = process.cpuUsage(cpu);
      const cpuSeconds = (used.user + used.system) / 1e6;
      const statistics = { ...player.engine.statistics };
      for (const name of Object.keys(before) as (keyof EngineStatistics)[])
        statistics[name] -= before[name];
      const replies = JSON.stringify(
        all.map(({ turns }) => turns.map(({ reply }) => [reply.ids, reply.logprobs])),
      );
      return { seconds, cpuSeconds, sampledTokens: account.sampledTokens, statistics, replies };
    },
    close: () => player.close(),
  };
}
