/**
 * @file `openmanus-rl`: finds the command and runs it.
 *
 * Commands are loaded when asked for: `--help` must not wait for libtorch.
 */
import { UsageError } from "./usage.ts";

/**
 * Errors whose message is for the person at the terminal, like SetupError (see bin/openmanus-rl.mjs).
 * Anything else is a bug of ours and keeps its stack. By name, because the classes are in rooms that
 * load libtorch.
 */
const TOLD: readonly string[] = [
  ...["EnvironmentError", "ConfigError", "ModelFileError", "CheckpointError"],
  "TrajectoryLineError",
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
  load(): Promise<Command>;
}

const COMMANDS: Readonly<Record<string, Entry>> = {
  doctor: {
    summary: "what this machine computes with, how fast, and what to do about it",
    load: async () => (await import("./doctor.ts")).doctor,
  },
  demo: {
    summary: "trains a small network, to see the engine at work",
    load: async () => (await import("./demo.ts")).demo,
  },
  start: {
    summary: "the quickstart: from nothing to a trained agent in minutes",
    load: async () => (await import("./start.ts")).start,
  },
  train: {
    summary: "trains an agent with PPO, GRPO, GiGPO and others",
    load: async () => (await import("./train.ts")).trainCommand,
  },
  sft: {
    summary: "warms a model up on expert episodes, or on your own",
    load: async () => (await import("./sft.ts")).sftCommand,
  },
  eval: {
    summary: "how good a model is, and whether it is better than another",
    load: async () => (await import("./eval.ts")).evalCommand,
  },
  model: {
    summary: "makes a new model, or shows what a model folder holds",
    load: async () => (await import("./model.ts")).model,
  },
  env: {
    summary: "the worlds: list them, show one, verify one",
    load: async () => (await import("./env.ts")).env,
  },
  play: {
    summary: "you are the agent in a world (or watch its scripted expert)",
    load: async () => (await import("./play.ts")).play,
  },
  rollout: {
    summary: "a model or an expert plays; how often it wins, and its trajectories",
    load: async () => (await import("./rollout.ts")).rollout,
  },
  trajectories: {
    summary: "lists, shows and exports episodes",
    load: async () => (await import("./trajectories.ts")).trajectories,
  },
  data: {
    summary: "fetches the data of worlds that have some to download",
    load: async () => (await import("./data.ts")).data,
  },
};

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
    "openmanus-rl <command> --help says more.",
  ].join("\n");
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
  if (name === undefined || name === "--help" || name === "help") {
    console.log(overview());
    return name === undefined ? 2 : 0;
  }
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!entry) {
    console.error(`openmanus-rl: there is no command "${name}".\n\n${overview()}`);
    return 2;
  }
  const command = await entry.load();
  if (rest.includes("--help")) {
    console.log(command.help);
    return 0;
  }
  try {
    return await command.run(rest);
  } catch (error) {
    if (error instanceof Error && TOLD.includes(error.name)) {
      console.error(`openmanus-rl ${name}: ${error.message}`);
      return 1;
    }
    if (!(error instanceof UsageError)) throw error;
    console.error(`openmanus-rl ${name}: ${error.message}\nopenmanus-rl ${name} --help says more.`);
    return 2;
  }
}
