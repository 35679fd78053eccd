/**
 * @file Options of `train`: each mistake gets a sentence, and nothing is left behind; `settings` win over
 * the other options.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import {
  defineEnvironment,
  defineFormat,
  environment,
  type MetricsLogger,
  planOf,
  type ReplayChoices,
  rewardFunction,
  type Settings,
  type TrainCall,
  type TrainOptions,
  train,
} from "../../src/library/index.ts";
import { readTrajectories } from "../../src/rollout/index.ts";
import { lights, NEW_MODEL, QUICK, warmModel } from "./support.ts";

const parent = mkdtempSync(join(tmpdir(), "openmanus-options-"));
afterAll(() => rmSync(parent, { recursive: true, force: true }));
let model: string;
beforeAll(async () => {
  model = await warmModel(parent);
});

/** Options as a program without types may give them. */
const wrong = (options: unknown) => options as Partial<TrainOptions>;

describe("a mistake gets a sentence, and leaves no folder", () => {
  const silent = defineEnvironment({
    name: "silent",
    summary: "a world without an expert",
    maximumSteps: 2,
    splits: { train: 5, test: 5 },
    start: () => ({}),
    intro: () => "Say something.",
    actions: () => ["yes", "no"],
    act: (_state, action) => ({ text: "So.", won: action === "yes" }),
  });
  const warmStart = { episodes: 5 };

  it.each<[string, Partial<TrainOptions>, RegExp]>([
    [
      "an unknown algorithm",
      wrong({ algorithm: "grp" }),
      /algorithm\.adv_estimator is "grp", expected .*Did you mean grpo\?/,
    ],
    [
      "an unknown loss",
      wrong({ algorithm: { loss: "vanila" } }),
      /loss_mode is "vanila", expected .*Did you mean vanilla\?/,
    ],
    ["an unknown preset", { preset: "huge" }, /there is no preset "huge"; there are alfworld, /],
    ["no reward at all", { rewards: [] }, /every weight of reward\.\* is 0.*nothing to learn/],
    [
      "a model that is not there",
      { model: "models/none" },
      /there is no model in "models\/none" \(no config\.json\)/,
    ],
    [
      "a preset of models that is not there",
      wrong({ model: { preset: "tny" } }),
      /model\.preset is "tny", expected tiny · /,
    ],
    ["no model", { model: "" }, /no model: name its folder/],
    [
      "a world that cannot be sent to another process",
      { world: silent, isolate: 2 },
      /silent: it is an object of this program.*give the file that exports it/,
    ],
    [
      "a warm start without an expert",
      { world: silent, warmStart },
      /silent has no scripted expert.*give episodes of your own/,
    ],
    [
      "random actions of an expert that cannot go on from there",
      { warmStart: { ...warmStart, randomActions: 0.5 } },
      /the expert of lights cannot go on after actions that are not its own.*acted/,
    ],
    ["a warm start on nothing", { warmStart: { data: [] } }, /warmStart: data has no episodes/],
    ["an unknown world", { world: "lihgts" }, /lihgts: there is no world of this name/],
    [
      "an unknown format",
      { agent: { format: "reakt" } },
      /env\.format is "reakt", expected .*Did you mean react\?/,
    ],
    [
      "an unknown setting",
      wrong({ settings: { trainer: { total_epoch: 3 } } }),
      /there is no setting trainer\.total_epoch\. Did you mean trainer\.total_epochs\?/,
    ],
    [
      "an unknown option",
      wrong({ iteration: 3 }),
      /there is no option iteration; did you mean iterations\?/,
    ],
    [
      "an unknown option further in",
      wrong({ warmStart: { episode: 3 } }),
      /there is no option warmStart\.episode; did you mean warmStart\.episodes\?/,
    ],
    [
      "an unknown option of replay",
      wrong({ replay: { perTasks: 3 } }),
      /there is no option replay\.perTasks; did you mean replay\.perTask\?/,
    ],
    [
      "replay that replays nothing",
      { replay: { rescue: false } },
      /algorithm\.replay\.enable=True replays nothing with rescue=False and share=0/,
    ],
    [
      "a share of replay that is too large",
      { replay: { share: 1 } },
      /algorithm\.replay\.share is 1/,
    ],
    [
      "an unknown option of a curriculum",
      wrong({ curriculum: { by: "success_rate", flor: 0.2 } }),
      /there is no option curriculum\.flor; did you mean curriculum\.floor\?/,
    ],
    [
      "an option of another curriculum",
      wrong({ curriculum: { by: "horizon", stages: [[1, 2]], easiest: 0.2 } }),
      /there is no option curriculum\.easiest\. There are by, stages\./,
    ],
    [
      "an unknown curriculum",
      wrong({ curriculum: "sucess_rate" }),
      /data\.curriculum\.by is "sucess_rate", expected .*success_rate/,
    ],
    [
      "a curriculum by nothing",
      wrong({ curriculum: { floor: 0.2 } }),
      /curriculum\.by is missing, expected success_rate · kind · difficulty · horizon/,
    ],
    ["a curriculum without its stages", { curriculum: "horizon" }, /data\.curriculum\.stages: /],
    ["a number that is none", wrong({ iterations: "many" }), /trainer\.total_epochs is "many"/],
    ["a group of one", { algorithm: "grpo", groupSize: 1 }, /compares the episodes of a group/],
    ["an unknown split", { validation: { split: "valid" } }, /lights: .*valid.*train, test/],
    ["options that the world does not have", { worldOptions: { size: 3 } }, /lights: .*size/],
  ])("%s", async (name, own, message) => {
    const folder = join(parent, name.replaceAll(" ", "-"));
    const options = { ...QUICK, model, iterations: 1, folder, ...own };
    const error = (await train(options).catch((reason: unknown) => reason)) as Error;
    expect(error).toBeInstanceOf(Error);
    expect(error.name).toMatch(/^(ConfigError|OptionError|EnvironmentError|HubError)$/);
    expect(error.message).toMatch(message);
    expect(existsSync(folder)).toBe(false);
  });
});

const planned = async (own: Partial<TrainCall>) =>
  planOf({ ...QUICK, model, folder: join(parent, "planned"), ...own });

describe("replay and curriculum", () => {
  it("are off unless they are asked for", async () => {
    for (const own of [{}, { replay: false }] as const) {
      const { options } = await planned(own);
      expect(options.replay).toBeUndefined();
      expect(options.rollout.curriculum).toBeUndefined();
    }
  });

  it("have the settings' defaults, and every option arrives", async () => {
    const byName = await planned({
      settings: {
        algorithm: { replay: { enable: true } },
        data: { curriculum: { by: "success_rate" } },
      },
    });
    for (const replay of [true, {}] as const) {
      const { options } = await planned({ replay, curriculum: "success_rate" });
      expect(options.replay).toEqual(byName.options.replay);
      expect(options.rollout.curriculum).toEqual(byName.options.rollout.curriculum);
    }
    const replay: ReplayChoices = {
      ...{ rescue: false, share: 0.3, capacity: 7, perTask: 2, minimumScore: 0.5, maximumAge: 9 },
      priority: "score",
      ...{ halfLife: 3, correction: "ppo", threshold: 4 },
    };
    expect((await planned({ replay })).options.replay).toEqual(replay);
    const ageless = await planned({ replay: { halfLife: null } });
    expect(ageless.options.replay).toMatchObject({ halfLife: undefined, rescue: true });
  });

  it.each<NonNullable<TrainCall["curriculum"]>>([
    { by: "success_rate", floor: 0.2, unseen: 2, memory: 0.1 },
    { by: "difficulty", easiest: 0.5, iterations: 3 },
    {
      by: "horizon",
      stages: [
        [1, 1],
        [2, 2],
      ],
    },
  ])("a curriculum has its options: %j", async (curriculum) => {
    const { options } = await planned({ curriculum });
    expect(options.rollout.curriculum).toMatchObject(curriculum as object);
  });

  it("settings win over them", async () => {
    const { options } = await planned({
      ...{ replay: { capacity: 7 }, curriculum: { by: "success_rate", floor: 0.2 } },
      settings: { algorithm: { replay: { capacity: 9 } }, data: { curriculum: { floor: 0.3 } } },
    });
    expect(options.replay).toMatchObject({ capacity: 9 });
    expect(options.rollout.curriculum).toMatchObject({ by: "success_rate", floor: 0.3 });
  });

  it("a run learns from stored successes, of tasks that are drawn by their rate", async () => {
    const metrics: Readonly<Record<string, number>>[] = [];
    await train({
      ...QUICK,
      ...{ model, iterations: 3, tasks: 4, groupSize: 2, algorithm: "rloo", seed: 3 },
      ...{ replay: { share: 0.4 }, curriculum: "success_rate" },
      folder: join(parent, "replayed"),
      onIteration: (_, found) => void metrics.push(found),
    });
    expect(metrics).toHaveLength(3);
    expect(metrics.at(-1)).toMatchObject({ "curriculum/tasks_seen": expect.any(Number) });
    expect(metrics.at(-1)!["replay/stored"]).toBeGreaterThan(0);
  });
});

describe("settings", () => {
  it("win over options, and leave the others as they are", async () => {
    const { config, options } = await planned({
      iterations: 7,
      learningRate: 1e-2,
      algorithm: { name: "grpo", clipRatio: 0.3, entropy: 0.01 },
      settings: {
        trainer: { total_epochs: 9 },
        actor_rollout_ref: { actor: { clip_ratio: 0.1 } },
      },
    });
    expect(options.iterations).toBe(9);
    expect(options.actor.lossOptions.clipRatio).toBe(0.1);
    expect(options.actor).toMatchObject({ entropy: 0.01, optimizer: { lr: 1e-2 } });
    expect(config.algorithm.adv_estimator).toBe("grpo");
  });

  it("win over a preset and over the form that a model has learned", async () => {
    const learned = await planned({});
    expect(learned.config.env).toMatchObject({ format: "action", prompts: "bare" });
    const { config } = await planned({ settings: { env: { prompts: "full" } } });
    expect(config.env).toMatchObject({ format: "action", prompts: "full" });
    const preset = await planned({
      preset: "alfworld",
      settings: { algorithm: { gamma: 0.5 } },
    });
    expect(preset.config.algorithm).toMatchObject({ gamma: 0.5, gigpo: { mode: "mean_std_norm" } });
  });

  it("that do nothing here are noted", async () => {
    const { notes } = await planned({ settings: { trainer: { balance_batch: false } } });
    expect(notes.join("\n")).toMatch(/trainer\.balance_batch has no effect here: /);
  });

  it("that only the command line can follow are noted", async () => {
    const { notes } = await planned({ settings: { trainer: { n_gpus_per_node: 4 } } });
    expect(notes.join("\n")).toMatch(/4 ranks are asked for .+, and this program is one of 1/);
  });

  it("have the types of the schema", async () => {
    // @ts-expect-error: a number is expected, so a mistake is seen before anything runs.
    const settings: Settings = { trainer: { total_epochs: "many" } };
    await expect(planned({ settings })).rejects.toThrow(/expected/);
  });
});

it("rewards, a format and loggers of one's own are used", async () => {
  const folder = join(parent, "own");
  const logged: number[] = [];
  const logger: MetricsLogger = { log: (step) => void logged.push(step), close: () => {} };
  await train({
    ...QUICK,
    world: lights,
    model: NEW_MODEL,
    warmStart: { episodes: 30, epochs: 3 },
    iterations: 1,
    folder,
    agent: {
      format: defineFormat({
        name: "say",
        style: "labels",
        fields: [{ name: "Say", about: "the answer" }],
      }),
    },
    rewards: [environment(1), rewardFunction("one_each", 0.5, () => 1)],
    loggers: [logger],
  });
  expect(logged).toEqual([1]);
  const trajectories = [...readTrajectories(join(folder, "trajectories"))];
  expect(trajectories).toHaveLength(9);
  for (const { rewards, format } of trajectories) {
    expect(rewards).toHaveProperty("one_each", 0.5);
    expect(format).toBe("say");
  }
  const config = parse(readFileSync(join(folder, "config.yaml"), "utf8")) as { env: object };
  expect(config.env).toMatchObject({ format: "say", env_name: "lights" });
});
