/**
 * @file `openmanus-rl`: finds the command and runs it.
 *
 * Commands are loaded when asked for: `--help` must not wait for libtorch.
 */
import { readFileSync } from "node:fs";
import { locateAddon } from "../setup/index.ts";
import { nearest } from "../spelling/index.ts";
import { UsageError } from "./arguments/usage.ts";
import { INTERRUPTED } from "./support/interrupt.ts";

/** Work that was stopped before there was anything to save: no failure, but not done either. */
const INTERRUPTION = "InterruptedError";

/**
 * Errors whose message is for the person at the terminal. Anything else is a bug of ours and keeps its
 * stack. By name, because the classes are in rooms that a command loads only when it needs them.
 */
const SHOWN_WITHOUT_STACK: readonly string[] = [
  ...["SetupError", "EnvironmentError", "ConfigError", "ModelFileError", "CheckpointError"],
  ...["TrajectoryLineError", "ProcessGroupError", "OptionError", INTERRUPTION],
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
  eval: {
    summary: "how good a model is, and whether it is better than another",
    load: async () => (await import("./commands/eval.ts")).evalCommand,
  },
  model: {
    summary: "makes a new model, or shows what a model folder holds",
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
  trajectories: {
    summary: "lists, shows and exports episodes",
    load: async () => (await import("./commands/trajectories.ts")).trajectories,
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

/** `openmanus-rl … | head`: nobody reads any more, which is no mistake of anybody's. */
function onOutputError(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
  process.exit(CLOSED_PIPE);
}

export async function main(words: readonly string[]): Promise<number> {
  for (const stream of [process.stdout, process.stderr])
    if (!stream.listeners("error").includes(onOutputError)) stream.on("error", onOutputError);
  const [name, ...rest] = words;
  if (name === undefined || ["--help", "-h", "help"].includes(name)) {
    console.log(overview());
    return name === undefined ? 2 : 0;
  }
  if (["--version", "-v"].includes(name)) {
    console.log(version());
    return 0;
  }
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!entry) {
    console.error(`openmanus-rl: ${unknownCommand(name)}`);
    return 2;
  }
  try {
    const command = await entry.load();
    if (rest.includes("--help") || rest.includes("-h")) {
      console.log(command.help);
      return 0;
    }
    if (entry.needsAddon) locateAddon();
    return await command.run(rest);
  } catch (error) {
    if (error instanceof Error && SHOWN_WITHOUT_STACK.includes(error.name)) {
      console.error(`openmanus-rl ${name}: ${error.message}`);
      return error.name === INTERRUPTION ? INTERRUPTED : 1;
    }
    if (!(error instanceof UsageError)) throw error;
    console.error(`openmanus-rl ${name}: ${error.message}\nopenmanus-rl ${name} --help says more.`);
    return 2;
  }
}
