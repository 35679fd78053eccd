/**
 * @file `openmanus-rl sft`: a model learns from episodes before it learns by itself.
 */
import { type Config, resolveConfig } from "../config/index.ts";
import {
  type ConfiguredWorld,
  chosenTasks,
  createModelAgent,
  evaluateModel,
  openConfiguredWorld,
  requireModelFolder,
  SETTINGS_FILE,
  settingsNote,
} from "../evaluation/index.ts";
import { type Chat, loadChat, loadModel, type Model, saveModel } from "../models/index.ts";
import {
  type Example,
  examplesOf,
  examplesOfEverything,
  expertEpisodes,
  fineTune,
  readExamples,
  taskOrder,
} from "../training/index.ts";
import type { Command } from "./main.ts";
import { settingsAndOptions } from "./settings.ts";
import { UsageError } from "./usage.ts";
import { progressLine } from "./world.ts";

export const sft: Command = {
  help: [
    "Usage: openmanus-rl sft --out FOLDER [--preset NAME] [--config FILE …] [key=value …] [options]",
    "",
    "Trains a model on episodes: of the world's scripted expert (made on the fly), or from files. What",
    "the agent says is learned, nothing else unless --everything says so. World, format and context are",
    "set as for train (env.*), so that a run of train goes on in the same form.",
    "",
    "  --out FOLDER      where the model goes",
    "  --episodes N      expert episodes of the training split (100); more than it has tasks: each is",
    "                    played again, by an expert with another seed",
    "  --data FILE       instead: trajectories or chats (.jsonl, .parquet), or a folder of trajectories",
    "  --slips X         share of turns in which the expert does something wrong and goes on (0.1): the",
    "                    model learns to go on after a mistake, and not the mistake",
    "  --again X         how likely it tries the same mistake again, each time (0): to learn to leave circles",
    "  --wanders X       share of turns in which it does something at random that can be done there (0): such a",
    "                    model knows how to do things and has to learn what for",
    "  --whims PATTERN   what it may do then, a regular expression (^(go|look|examine|open|inventory))",
    "  --corrected X     instead of slips: the model itself acts in this share of turns, and the expert goes",
    "                    on from there; for a model that has learned the form already",
    "  --everything      what the world says is learned, too: for a model from nothing, which has to learn",
    "                    the world's language",
    "  --epochs N        passes over them (10)",
    "  --lr X            learning rate (1e-3)",
    "  --batch N         sequences per update (8)",
    "  --holdout N       episodes that are not learned, for the validation loss (a tenth, at most 50)",
    "  --evaluate N      tasks of the validation split to play afterwards (0)",
    "  --seed N          (0)",
    "",
    "Example: openmanus-rl sft --preset small-model --out models/warm --episodes 200 \\",
    "           actor_rollout_ref.model.path=models/new env.env_name=household",
  ].join("\n"),
  async run(given) {
    const { settings, values, words } = settingsAndOptions(given, {
      preset: { type: "string" },
      config: { type: "string", multiple: true, default: [] },
      out: { type: "string" },
      episodes: { type: "string", default: "100" },
      data: { type: "string" },
      slips: { type: "string", default: "0.1" },
      again: { type: "string", default: "0" },
      wanders: { type: "string", default: "0" },
      whims: { type: "string", default: "^(go|look|examine|open|inventory)" },
      corrected: { type: "string", default: "0" },
      everything: { type: "boolean", default: false },
      epochs: { type: "string", default: "10" },
      lr: { type: "string", default: "1e-3" },
      batch: { type: "string", default: "8" },
      holdout: { type: "string" },
      evaluate: { type: "string", default: "0" },
      seed: { type: "string", default: "0" },
    });
    if (words.length > 0) throw new UsageError(`sft takes no "${words[0]}".`);
    if (values.out === undefined) throw new UsageError("sft needs --out FOLDER.");
    const { config } = resolveConfig({
      preset: values.preset,
      files: values.config,
      overrides: settings,
    });
    return await run(config, {
      out: values.out,
      data: values.data,
      episodes: number("episodes", values.episodes, 1),
      slips: share("slips", values.slips),
      again: share("again", values.again),
      wanders: share("wanders", values.wanders),
      whims: pattern("whims", values.whims),
      corrected: share("corrected", values.corrected),
      everything: values.everything,
      epochs: number("epochs", values.epochs, 1),
      lr: Number(values.lr) > 0 ? Number(values.lr) : wrong("lr", values.lr),
      batch: number("batch", values.batch, 1),
      holdout: values.holdout === undefined ? undefined : number("holdout", values.holdout, 0),
      evaluate: number("evaluate", values.evaluate, 0),
      seed: number("seed", values.seed, 0),
    });
  },
};

interface SftWishes {
  out: string;
  data: string | undefined;
  episodes: number;
  slips: number;
  again: number;
  wanders: number;
  whims: RegExp;
  corrected: number;
  everything: boolean;
  epochs: number;
  lr: number;
  batch: number;
  holdout: number | undefined;
  evaluate: number;
  seed: number;
}

async function run(config: Config, wishes: SftWishes): Promise<number> {
  const folder = requireModelFolder(config.actor_rollout_ref.model.path);
  const chat = loadChat(folder);
  const model = loadModel(folder, { dtype: config.actor_rollout_ref.model.dtype });
  const world = await openConfiguredWorld(config);
  try {
    const examples =
      wishes.data === undefined
        ? await fromExperts(config, world, { model, chat }, wishes)
        : await readExamples(wishes.data, chat);
    const held = wishes.holdout ?? Math.min(50, Math.floor(examples.length / 10));
    const validation = examples.slice(examples.length - held);
    const training = examples.slice(0, examples.length - held);
    console.log(`${training.length} sequences to learn, ${validation.length} held out`);
    const line = progressLine();
    const { loss, updates, tokens } = await fineTune(model, training, {
      epochs: wishes.epochs,
      lr: wishes.lr,
      batchSize: wishes.batch,
      seed: wishes.seed,
      validation,
      checkpointing: config.actor_rollout_ref.model.enable_gradient_checkpointing,
      onUpdate: (now) => {
        const text = `update ${now.update} of ${now.updates}, loss ${now.loss.toFixed(3)}`;
        if (process.stderr.isTTY) line.show(text);
        else if (now.update % Math.ceil(now.updates / 20) === 0) console.log(text);
      },
      onEpoch: (epoch, validationLoss) => {
        line.clear();
        const shown =
          validationLoss === undefined || validation.length === 0
            ? ""
            : `, held-out loss ${validationLoss.toFixed(4)}`;
        console.log(`epoch ${epoch} of ${wishes.epochs}${shown}`);
      },
    });
    saveModel(model, wishes.out, {
      tokenizerFolder: folder,
      extraFiles: { [SETTINGS_FILE]: settingsNote(config) },
    });
    console.log(
      `${updates} updates, ${tokens} tokens learned, loss ${loss.toFixed(4)}; the model is in ${wishes.out}`,
    );
    if (wishes.evaluate > 0) await showSuccess(config, world, wishes);
    return 0;
  } finally {
    model.dispose();
    await world.world.close?.();
  }
}

async function fromExperts(
  config: Config,
  world: ConfiguredWorld,
  { model, chat }: { model: Model; chat: Chat },
  { episodes, seed, slips, again, wanders, whims, corrected, everything }: SftWishes,
): Promise<Example[]> {
  if (world.world.source !== undefined) console.log(`episodes: ${world.world.source}`);
  const order = taskOrder(await world.world.tasks(world.trainSplit), seed, true);
  const tasks = order.next(episodes);
  const contextLength = model.config.maximumPositions;
  const common = { config, world, chat, tasks, seed, contextLength };
  const examples = everything ? examplesOfEverything : examplesOf;
  if (corrected === 0) {
    const allows = (action: string) => whims.test(action);
    const wandering = wanders > 0 && { wanders: { share: wanders, allows } };
    const won = await expertEpisodes({ ...common, slips, again, ...wandering });
    console.log(`the expert solved ${won.length} of ${tasks.length} tasks`);
    return won.flatMap(examples);
  }
  const { engine, policy } = createModelAgent(config, model, chat);
  try {
    const { temperature, top_k, top_p } = config.actor_rollout_ref.rollout;
    const student = { policy: policy({ temperature, top_k, top_p }), share: corrected };
    const played = await expertEpisodes({ ...common, student });
    const won = played.filter((trajectory) => trajectory.won).length;
    console.log(`model and expert solved ${won} of ${tasks.length} tasks`);
    return played.flatMap(examples);
  } finally {
    await engine.close();
  }
}

async function showSuccess(
  config: Config,
  world: ConfiguredWorld,
  wishes: SftWishes,
): Promise<void> {
  const tasks = chosenTasks(await world.world.tasks(world.valSplit), wishes.evaluate);
  const { all } = await evaluateModel(wishes.out, { config, world, tasks });
  const won = all.filter((trajectory) => trajectory.won).length;
  console.log(`${world.valSplit}: ${won} of ${all.length} tasks solved`);
}

function share(name: string, value: string): number {
  const parsed = Number(value);
  return parsed >= 0 && parsed < 1 ? parsed : wrong(name, value);
}

function pattern(name: string, value: string): RegExp {
  try {
    return new RegExp(value, "u");
  } catch {
    return wrong(name, value);
  }
}

function number(name: string, value: string, least: number): number {
  const parsed = Number(value);
  return Number.isInteger(parsed) && parsed >= least ? parsed : wrong(name, value);
}

function wrong(name: string, value: string): never {
  throw new UsageError(`--${name} cannot be "${value}".`);
}
