/**
 * @file `openmanus-rl play NAME`: a person is the agent, or watches the scripted expert.
 */
import { createInterface, type Interface } from "node:readline";
import {
  type DistantExpert,
  expertsOf,
  type HandPlayed,
  type Observation,
  playByHand,
  type Task,
  type TaskSet,
  taskNamed,
  type World,
} from "../../environments/index.ts";
import { visible } from "../../spelling/index.ts";
import { optionsAndWords, UsageError, wholeNumber } from "../arguments/usage.ts";
import { opened, worldWords } from "../arguments/world.ts";
import type { Command } from "../main.ts";
import { print } from "../support/print.ts";

export const play: Command = {
  help: [
    "Usage: openmanus-rl play NAME [key=value …] [--split S] [--task N] [--steps N] [--expert]",
    "       openmanus-rl play [NAME] --model MODEL|RUN [key=value …] [--split S] [--task N]",
    "",
    "You are the agent: type an action and Enter. TAB completes, an empty line lists again what you can do,",
    ":plan shows the shortest way where the world knows it, :quit ends. Reads piped input too.",
    "key=value sets an option of the world; openmanus-rl env show NAME lists them.",
    "",
    "  --split S   the split to play (the first one; with --model, the validation split)",
    "  --task N    the number of the task in it, from 0, or its id",
    "  --steps N   how many steps you have (the world's own number)",
    "  --expert    watch the world's scripted expert instead",
    "  --isolate N play the world in N processes of its own",
    "  --model F   watch the model in folder F instead, or a run's best policy; it knows its world",
    "",
    "Example: openmanus-rl play household difficulty=easy --task 3",
  ].join("\n"),
  async run(given) {
    const { values, words } = optionsAndWords(given, {
      split: { type: "string" },
      task: { type: "string", default: "0" },
      steps: { type: "string" },
      expert: { type: "boolean", default: false },
      isolate: { type: "string" },
      model: { type: "string" },
    });
    if (values.model !== undefined) {
      const { watchModel } = await import("../support/watch.ts");
      return await watchModel(values.model, words, values);
    }
    const { name, options, others } = worldWords(words);
    if (others.length > 0) throw new UsageError(`play takes no "${others[0]}".`);
    const { definition, world } = await opened(name, options, values);
    try {
      const steps =
        values.steps === undefined
          ? definition.maximumSteps
          : wholeNumber("steps", values.steps, 1);
      const tasks = await world.tasks(values.split ?? world.splits[0]!);
      const task = chosenTask(tasks, values.task);
      if (!values.expert) return await episode(world, task, steps, person());
      const experts = expertsOf(world);
      if (!experts) throw new UsageError(`${definition.name} has no scripted expert.`);
      return await episode(world, task, steps, watched(experts(0)));
    } finally {
      await world.close?.();
    }
  },
};

export function chosenTask(tasks: TaskSet, wanted: string): Task {
  const task = taskNamed(tasks, wanted);
  if (!task) throw new UsageError(`the split ${tasks.split} has no task "${wanted}".`);
  return task;
}

/** Who acts. Undefined ends the episode. */
interface Player {
  next(
    observation: Observation,
    plan: () => readonly string[] | undefined,
  ): Promise<string | undefined>;
  close(): void;
}

async function episode(world: World, task: Task, steps: number, player: Player): Promise<number> {
  let played: HandPlayed | undefined;
  try {
    played = await playByHand(world, task, steps);
    print(played.observation.text);
    let score = 0;
    while (!played.end) {
      const action = await player.next(played.observation, played.plan);
      if (action === undefined) {
        print("You leave.");
        return 0;
      }
      ({ score } = await played.act(action));
      print(played.observation.text);
    }
    print(
      played.end === "turn limit"
        ? `\nThe ${steps} steps are used up.`
        : `\n${ENDS[played.end]} after ${played.steps} steps, score ${score}.`,
    );
    return 0;
  } finally {
    player.close();
    await played?.close();
  }
}

const ENDS = { won: "Solved", lost: "Lost", over: "Over" } as const;

function watched(expert: DistantExpert): Player {
  return {
    next: async (observation) => {
      const action = await expert.act(observation);
      print(`\n> ${action}`);
      return action;
    },
    close: () => {},
  };
}

function person(): Player {
  const terminal = Boolean(process.stdin.isTTY);
  let admissible: readonly string[] = [];
  const lines: Interface = createInterface({
    input: process.stdin,
    ...(terminal && { output: process.stdout }),
    completer: (line: string): [string[], string] => [completions(admissible, line), line],
    terminal,
  });
  const reader = lines[Symbol.asyncIterator]();
  return {
    async next(observation, plan) {
      admissible = observation.admissible ?? [];
      if (admissible.length > 0) print(`\nYou can: ${admissible.join(" · ")}`);
      for (;;) {
        if (terminal) lines.setPrompt("\n> ");
        lines.prompt();
        const { value, done } = (await reader.next()) as IteratorResult<string, undefined>;
        if (done || value === undefined || value.trim() === ":quit") return undefined;
        const line = value.trim();
        // A terminal has shown what was typed; a pipe has not.
        if (!terminal) print(`\n> ${line}`);
        if (line === ":plan") {
          print(plan()?.join("\n") ?? "This world knows no plan from here.");
        } else if (line === "") {
          print(admissible.length > 0 ? admissible.join("\n") : "This world lists no actions.");
        } else {
          return line;
        }
      }
    },
    close: () => lines.close(),
  };
}

/** A blank to fill in ("search[<your query>]") completes up to its blank. */
export function completions(admissible: readonly string[], line: string): string[] {
  const beginnings = admissible.map((action) => action.replace(/<[^<>]*>.*$/s, ""));
  // What is completed is written to the terminal as it stands.
  const shown = beginnings.filter((action) => visible(action) === action);
  return [...new Set(shown)].filter((action) => action.startsWith(line));
}
