/**
 * @file `openmanus-rl`: finds the command and runs it.
 *
 * Commands are loaded when asked for: `--help` must not wait for libtorch.
 */
import { readFileSync } from "node:fs";
import { locateAddon } from "../setup/index.ts";
import { nearest } from "../spelling/index.ts";
import { UsageError } from "./arguments/usage.ts";
import { INTERRUPTED, interruptWork } from "./support/interrupt.ts";
import { print, printError } from "./support/print.ts";
import { systemSentence } from "./support/system-error.ts";

/** Work that was stopped before there was anything to save: no failure, but not done either. */
const INTERRUPTION = "InterruptedError";

/**
 * Errors whose message is for the person at the terminal. Anything else is a bug of ours and keeps its
 * stack. By name, because the classes are in rooms that a command loads only when it needs them.
 */
const SHOWN_WITHOUT_STACK: readonly string[] = [
  ...["SetupError", "EnvironmentError", "ConfigError", "ModelFileError", "CheckpointError"],
  ...["TrajectoryLineError", "ProcessGroupError", "OptionError", "FolderError"],
  ...["MetricsFileError", "ServerError", "WeightsError", "HubError", "NetworkError", INTERRUPTION],
];

/** What a command's file exports. */
export interface Command {
  /** The whole text of `openmanus-rl <command> --help`, with an example. */
  readonly help: string;
  /** Returns the exit code. */
  run(words: readonly string[]): Promise<number> | number;
}

interface Entry {
  readonly summary: string;
  /** Whether all it does needs the addon: then it begins nothing without. */
  readonly needsAddon?: true;
  load(): Promise<Command>;
}

const COMMANDS: Readonly<Record<string, Entry>> = {
  init: {
    summary: "makes a project of your own: a world, its training and its tests",
    load: async () => (await import("./commands/init.ts")).init,
  },
  setup: {
    summary: "installs what is missing and builds the native addon",
    load: async () => (await import("./commands/setup.ts")).setup,
  },
  doctor: {
    summary: "what this machine computes with, how fast, and what to do about it",
    load: async () => (await import("./commands/doctor.ts")).doctor,
  },
  demo: {
    summary: "trains a small network, to see the engine at work",
    needsAddon: true,
    load: async () => (await import("./commands/demo.ts")).demo,
  },
  start: {
    summary: "the quickstart: from nothing to a trained agent in minutes",
    needsAddon: true,
    load: async () => (await import("./commands/start.ts")).start,
  },
  train: {
    summary: "trains an agent with PPO, GRPO, GiGPO and others",
    needsAddon: true,
    load: async () => (await import("./commands/train.ts")).trainCommand,
  },
  sft: {
    summary: "warms a model up on expert episodes, or on your own",
    needsAddon: true,
    load: async () => (await import("./commands/sft.ts")).sftCommand,
  },
  dpo: {
    summary: "a model learns from pairs of answers, of which one was better",
    needsAddon: true,
    load: async () => (await import("./commands/dpo.ts")).dpoCommand,
  },
  "reward-model": {
    summary: "a model learns to score episodes: a reward, a judge of searches",
    needsAddon: true,
    load: async () => (await import("./commands/reward-model.ts")).rewardModelCommand,
  },
  eval: {
    summary: "how good a model is, and whether it is better than another",
    load: async () => (await import("./commands/eval.ts")).evalCommand,
  },
  serve: {
    summary: "a model as a server for OpenAI's and Anthropic's clients; records agents",
    needsAddon: true,
    load: async () => (await import("./commands/serve.ts")).serveCommand,
  },
  chat: {
    summary: "talk to a model, or a run's best, in the terminal",
    needsAddon: true,
    load: async () => (await import("./commands/chat.ts")).chatCommand,
  },
  model: {
    summary: "makes, fetches, pushes and shows models; GGUF files in and out",
    load: async () => (await import("./commands/model.ts")).model,
  },
  env: {
    summary: "the worlds: list them, show one, verify one",
    load: async () => (await import("./commands/env.ts")).env,
  },
  play: {
    summary: "you are the agent in a world (or watch its scripted expert)",
    load: async () => (await import("./commands/play.ts")).play,
  },
  rollout: {
    summary: "a model or an expert plays; how often it wins, and its trajectories",
    load: async () => (await import("./commands/rollout.ts")).rollout,
  },
  dashboard: {
    summary: "runs in the browser, live: curves, episodes, every token",
    load: async () => (await import("./commands/dashboard.ts")).dashboard,
  },
  diagnose: {
    summary: "what is wrong with a run, with evidence, and which setting to change",
    load: async () => (await import("./commands/diagnose.ts")).diagnoseCommand,
  },
  trajectories: {
    summary: "lists, shows and exports episodes",
    load: async () => (await import("./commands/trajectories.ts")).trajectories,
  },
  ray: {
    summary: "runs on a Ray cluster: lists them, stops one, shows its log",
    load: async () => (await import("./commands/ray.ts")).ray,
  },
  data: {
    summary: "fetches the data of worlds that have some to download",
    load: async () => (await import("./commands/data.ts")).data,
  },
};

/** For whoever documents them. */
export const COMMAND_NAMES: readonly string[] = Object.keys(COMMANDS);

function overview(): string {
  const lines = Object.entries(COMMANDS).map(
    ([name, { summary }]) => `  ${name.padEnd(12)} ${summary}`,
  );
  return [
    "Usage: openmanus-rl <command> [options]",
    "",
    "Commands:",
    ...lines,
    "",
    "openmanus-rl <command> --help says more; openmanus-rl --version, which one this is.",
  ].join("\n");
}

function version(): string {
  // As far up from dist/cli as from src/cli.
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}

function unknownCommand(name: string): string {
  const guess = nearest(name, Object.keys(COMMANDS));
  return guess
    ? `there is no command "${name}"; did you mean "${guess}"?\nopenmanus-rl --help lists them.`
    : `there is no command "${name}".\n\n${overview()}`;
}

/** The exit code of a program whose reader has gone: 128 + SIGPIPE. */
const CLOSED_PIPE = 141;

/** What a write says when its pipe has no reader, or its terminal was closed. */
const NOBODY_READS = ["EPIPE", "EIO", "ENXIO"];

/**
 * `openmanus-rl … | head`: nobody reads any more, which is no mistake of anybody's. Work that can go on
 * later stops where it can; what it writes until then is lost.
 */
function onOutputError(error: NodeJS.ErrnoException): void {
  if (!NOBODY_READS.includes(error.code ?? "")) throw error;
  if (!interruptWork()) process.exit(CLOSED_PIPE);
}

/**
 * Runs a command. Where it waits for something that cannot come any more (a promise that nobody settles, and
 * no timer or connection that could), Node would end with code 13 and without a word.
 */
async function untilNothingHappens(
  name: string,
  run: () => Promise<number> | number,
): Promise<number> {
  const give = () => {
    // Only commands that call others' code wait for it; then it is loaded already.
    void import("../environments/index.ts").then(({ pendingWaits }) => {
      const waits = pendingWaits();
      const what = waits.length > 0 ? waits.join(", ") : "something";
      printError(
        `openmanus-rl ${name}: it waits for ${what}, and nothing is left that could still happen: a ` +
          "promise is never settled. Look for it in the world, the reward or the tool of your own.",
      );
      process.exit(1);
    });
  };
  process.once("beforeExit", give);
  try {
    return await run();
  } finally {
    process.off("beforeExit", give);
  }
}

export async function main(words: readonly string[]): Promise<number> {
  for (const stream of [process.stdout, process.stderr])
    if (!stream.listeners("error").includes(onOutputError)) stream.on("error", onOutputError);
  const [name, ...rest] = words;
  if (name === undefined || ["--help", "-h", "help"].includes(name)) {
    print(overview());
    return name === undefined ? 2 : 0;
  }
  if (["--version", "-v"].includes(name)) {
    print(version());
    return 0;
  }
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!entry) {
    printError(`openmanus-rl: ${unknownCommand(name)}`);
    return 2;
  }
  try {
    const command = await entry.load();
    if (rest.includes("--help") || rest.includes("-h")) {
      print(command.help);
      return 0;
    }
    if (entry.needsAddon) locateAddon();
    return await untilNothingHappens(name, () => command.run(rest));
  } catch (error) {
    if (error instanceof Error && SHOWN_WITHOUT_STACK.includes(error.name)) {
      printError(`openmanus-rl ${name}: ${error.message}`);
      return error.name === INTERRUPTION ? INTERRUPTED : 1;
    }
    const ofSystem = systemSentence(error);
    if (ofSystem !== undefined) {
      printError(`openmanus-rl ${name}: ${ofSystem}`);
      return 1;
    }
    if (!(error instanceof UsageError)) throw error;
    printError(`openmanus-rl ${name}: ${error.message}\nopenmanus-rl ${name} --help says more.`);
    return 2;
  }
}
