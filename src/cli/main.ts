/**
 * @file `openmanus-rl`: finds the command and runs it.
 *
 * Commands are loaded when asked for: `--help` must not wait for libtorch.
 */
import { UsageError } from "./usage.ts";

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
};

function overview(): string {
  const lines = Object.entries(COMMANDS).map(
    ([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`,
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

export async function main(words: readonly string[]): Promise<number> {
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
    if (!(error instanceof UsageError)) throw error;
    console.error(`openmanus-rl ${name}: ${error.message}\nopenmanus-rl ${name} --help says more.`);
    return 2;
  }
}
