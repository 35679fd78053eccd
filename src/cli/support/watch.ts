/**
 * @file A trained model plays one task, for somebody to watch. The world and the form of replies are what
 * the model's folder says; both can be said otherwise.
 */
import { evaluateFolder, openRunWorld } from "../../assembly/index.ts";
import { formOf, resolvePlay, settingsOf } from "../../config/index.ts";
import { audienceOf, fetchedModel, policyIn } from "../../library/index.ts";
import { UsageError, wholeNumber } from "../arguments/usage.ts";
import { worldWords } from "../arguments/world.ts";
import { chosenTask } from "../commands/play.ts";
import { print } from "./print.ts";

interface Values {
  readonly split?: string;
  readonly task: string;
  readonly steps?: string;
}

export async function watchModel(
  path: string,
  words: readonly string[],
  { split, task: wanted, steps }: Values,
): Promise<number> {
  const audience = audienceOf({ progress: process.stderr });
  const folder = policyIn(await fetchedModel(path, audience));
  const isNamed = words.length > 0 && !words[0]!.includes("=");
  const { name, options, others } = worldWords(isNamed ? words : ["", ...words]);
  if (others.length > 0) throw new UsageError(`play takes no "${others[0]}".`);
  // A world that is named is another than the model's, with options of its own.
  const base = isNamed ? formOf(folder) : settingsOf(folder, { env: { options } });
  const { play, world: where } = await resolvePlay(
    {
      ...(isNamed && { world: name }),
      ...(Object.keys(options).length > 0 && { worldOptions: options }),
      ...(steps !== undefined && { turns: wholeNumber("steps", steps, 1) }),
    },
    base,
  );
  const world = await openRunWorld(where);
  try {
    const task = chosenTask(await world.namedTasks(split ?? world.valSplit), wanted);
    const { all } = await evaluateFolder(folder, { play, world, tasks: [task] });
    const { turns, lastObservation, status, error } = all[0]!;
    for (const { observation, reply } of turns) print(`${observation}\n\n> ${reply.text}`);
    print(
      `${lastObservation}\n\n${status} after ${turns.length} turns.${error ? ` ${error}` : ""}`,
    );
    return error ? 1 : 0;
  } finally {
    await world.world.close?.();
  }
}
