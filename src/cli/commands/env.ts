/**
 * @file `openmanus-rl env list|show|verify|serve`: the worlds.
 */
import {
  boundedEnvironment,
  expertsOf,
  type Option,
  type Task,
  type World,
  type WorldDefinition,
  worldDefinitions,
} from "../../environments/index.ts";
import { optionsAndWords, UsageError, wholeNumber } from "../arguments/usage.ts";
import { opened, progressLine, worldWords } from "../arguments/world.ts";
import type { Command } from "../main.ts";
import { type ServeWords, serve } from "../support/worlds/serve.ts";
import { verifyWorld } from "../support/worlds/verify.ts";
import { print } from "../support/print.ts";

export const env: Command = {
  help: [
    "Usage: openmanus-rl env list [--json]",
    "       openmanus-rl env show NAME [key=value …] [--json]",
    "       openmanus-rl env verify NAME [DATA] [key=value …] [--split S] [--limit N] [--json]",
    "       openmanus-rl env serve NAME [key=value …] [--port N] [--kind K] [--split S] [--host H]",
    "                              [--environments N] [--idle SECONDS] [--api-key PLACE] [--json]",
    "",
    "list    the worlds that there are",
    "show    a world's options, splits and first task",
    "verify  replays every task's known solution; each must win at its last step and not before.",
    "        Prints {games, won, failures}; the exit code is 0 when all won. In a world that knows no",
    "        solutions (replayed: false), tasks are begun and played with odd actions, twice, and must be",
    "        the same both times; the first 100 of each split, by default.",
    "serve   offers a world over AgentGym's HTTP protocol, or OpenEnv's, until it is stopped",
    "",
    "NAME may be the file of a world of your own (./world.ts). DATA is a folder or an archive, the",
    "same as data=DATA. key=value sets an option of the world; show lists them.",
    "",
    "  --split S         verify, or serve, only this split",
    "  --limit N         verify only the first N tasks of each split",
    "  --json            one JSON object on standard output",
    "  --port N          serve on this port (default: any that is free)",
    "  --protocol P      agentgym (default) or openenv, which TRL and others speak",
    "  --kind K          as which of AgentGym's servers: alfworld, webshop, textcraft, … (default: by NAME)",
    "  --host H          serve on this address (default: 127.0.0.1, which only this machine reaches)",
    "  --allow-host H    a further name by which it may be asked, such as a proxy's; may be repeated",
    "  --api-key PLACE   ask every client for the key in env:NAME (a variable) or file:PATH (Authorization: Bearer)",
    "  --environments N  how many there may be at once (default: 1024)",
    "  --isolate N       verify, or serve, with the world in N processes of its own",
    "  --idle SECONDS    close an environment that nobody uses for so long (default: 3600)",
    "  --spare SECONDS   when there are N, close one that nobody used for so long for a new one (300)",
    "  --step-seconds S  how long a reset or a step may take (default: 300)",
    "",
    "Example: openmanus-rl env verify alfworld ~/alfworld/json_2.1.1 --json",
    "         openmanus-rl env serve textcraft --port 36001",
    "         openmanus-rl env serve alfworld --protocol openenv --port 8000",
  ].join("\n"),
  async run(words) {
    const parsed = optionsAndWords(words, {
      json: { type: "boolean", default: false },
      split: { type: "string" },
      limit: { type: "string" },
      port: { type: "string" },
      kind: { type: "string" },
      protocol: { type: "string" },
      host: { type: "string" },
      environments: { type: "string" },
      idle: { type: "string" },
      spare: { type: "string" },
      "step-seconds": { type: "string" },
      "allow-host": { type: "string", multiple: true },
      "api-key": { type: "string" },
      isolate: { type: "string" },
    });
    const { values } = parsed;
    const [what, ...rest] = parsed.words;
    switch (what) {
      case "list":
        if (rest.length > 0) throw new UsageError(`list takes no "${rest[0]}".`);
        return list(values.json);
      case "show":
        return show(rest, values.json);
      case "verify":
        return verify(rest, values);
      case "serve":
        return serve(rest, values);
      default:
        throw new UsageError(
          `${what === undefined ? "what about the worlds?" : `there is no "env ${what}".`} There are list, show, verify and serve.`,
        );
    }
  },
};

function list(json: boolean): number {
  const all = worldDefinitions().map(({ name, aliases = [], maximumSteps, summary }) => ({
    ...{ name, aliases, maximumSteps, summary },
  }));
  if (json) {
    print(JSON.stringify(all, null, 2));
    return 0;
  }
  const width = Math.max(...all.map(({ name }) => name.length));
  for (const { name, aliases, maximumSteps, summary } of all) {
    const also = aliases.length > 0 ? ` (also ${aliases.join(", ")})` : "";
    print(`${name.padEnd(width)}  ${summary}; ${maximumSteps} steps${also}`);
  }
  return 0;
}

async function show(words: readonly string[], json: boolean): Promise<number> {
  const { name, options, others } = worldWords(words);
  if (others.length > 0) throw new UsageError(`show takes no "${others[0]}".`);
  const { definition, world } = await opened(name, options);
  try {
    const splits = await splitsOf(world);
    const first = splits.find(({ tasks }) => tasks > 0);
    const task = first && (await world.tasks(first.split)).task(0);
    const example = task && (await exampleOf(world, task));
    if (json) {
      const { aliases = [], summary, maximumSteps, types = [] } = definition;
      const about = { name: definition.name, aliases, summary, maximumSteps, types };
      print(
        JSON.stringify(
          { ...about, options: definition.options, source: world.source, splits, example },
          null,
          2,
        ),
      );
      return 0;
    }
    print(described(definition, world, splits));
    if (example) print(`\nThe first task, ${task.id}:\n\n${indented(example.observation)}`);
    if (example?.solution) print(`\nA solution:\n\n${indented(example.solution.join("\n"))}`);
    return 0;
  } finally {
    await world.close?.();
  }
}

async function splitsOf(world: World): Promise<{ split: string; tasks: number }[]> {
  return Promise.all(
    world.splits.map(async (split) => ({ split, tasks: (await world.tasks(split)).length })),
  );
}

async function exampleOf(world: World, task: Task) {
  const environment = boundedEnvironment(world.name, world.environment());
  try {
    const { text, admissible } = await environment.reset(task);
    const solution = await world.solution?.(task);
    return { task, observation: text, admissible, solution };
  } finally {
    await environment.close?.();
  }
}

function described(
  definition: WorldDefinition,
  world: World,
  splits: readonly { split: string; tasks: number }[],
): string {
  const { name, aliases = [], summary, maximumSteps, types = [], options } = definition;
  const lines = [
    `${name}: ${summary}`,
    ...(aliases.length > 0 ? [`also     ${aliases.join(", ")}`] : []),
    `steps    ${maximumSteps}`,
    ...(world.source ? [`tasks    ${world.source}`] : []),
    `splits   ${splits.map(({ split, tasks }) => `${split} ${tasks}`).join(", ")}`,
    ...(types.length > 0 ? [`kinds    ${types.join(", ")}`] : []),
    `expert   ${expertsOf(world) ? "yes" : "no"}`,
  ];
  const names = Object.keys(options);
  if (names.length > 0) {
    const width = Math.max(...names.map((option) => option.length));
    lines.push("", "Options:");
    for (const [option, about] of Object.entries(options))
      lines.push(`  ${option.padEnd(width)}  ${aboutOption(about)}`);
  }
  return lines.join("\n");
}

function aboutOption(option: Option): string {
  const choices = "choices" in option && option.choices ? ` (${option.choices.join(", ")})` : "";
  const otherwise = option.default === undefined ? "" : `; default: ${option.default}`;
  return `${option.about}${choices}${otherwise}`;
}

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, "  ");
}

async function verify(
  words: readonly string[],
  values: Pick<ServeWords, "json" | "split" | "isolate"> & { limit?: string | undefined },
): Promise<number> {
  const { name, options, others } = worldWords(words);
  const [data, ...further] = others;
  if (further.length > 0) throw new UsageError(`verify takes no "${further[0]}".`);
  const limit = values.limit === undefined ? Infinity : wholeNumber("limit", values.limit, 1);
  const given = data === undefined ? options : { ...options, data };
  const { definition, world } = await opened(name, given, values);
  try {
    const progress = progressLine();
    const splits = values.split === undefined ? world.splits : [values.split];
    const found = await verifyWorld(world, splits, limit, (done, total) =>
      progress.show(`${definition.name}: ${done} of ${total}`),
    );
    progress.clear();
    const { games, won, failures, replayed = true } = found;
    if (values.json) print(JSON.stringify(found, null, 2));
    else {
      for (const { task, reason } of failures) print(`FAILED ${task}: ${reason}`);
      const source = world.source ?? definition.name;
      print(
        replayed
          ? `${won} of ${games} won at their last step (${source}).`
          : `Nothing to replay: ${source} knows no solutions. ${won} of ${games} tasks begin, are the ` +
              "same when they are played again, and take any string for an action.",
      );
    }
    return won === games && failures.length === 0 ? 0 : 1;
  } finally {
    await world.close?.();
  }
}
