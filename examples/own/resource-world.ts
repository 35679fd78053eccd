/**
 * @file A world with a resource: opened once for all episodes, closed once at the end, with something of
 * its own for each episode that is given back when the episode is over. Here: notebooks in a folder.
 *
 *   npx tsx resource-world.ts
 */
import { appendFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineEnvironment, train } from "openmanus-rl";

const world = defineEnvironment({
  name: "notebook",
  summary: "write the number that was named into a notebook",
  maximumSteps: 2,
  splits: { train: 200, test: 20 },
  open: () => mkdtemp(join(tmpdir(), "notebooks-")),
  close: (folder) => rm(folder, { recursive: true }),
  start: (task, random, _options, folder) => ({
    number: String(random.integer(3)),
    file: join(folder, `${task.id.replace("/", "-")}-${Math.random()}.txt`),
  }),
  finish: ({ file }) => rm(file, { force: true }),
  intro: ({ number }) => `Write ${number}.`,
  async act({ number, file }, action) {
    await appendFile(file, `${action}\n`);
    return action === number ? { text: "Written.", won: true } : { text: `Write ${number}.` };
  },
  expert: () => ({ act: ({ text }) => /\d/.exec(text)![0] }),
});
export default world;

const choices = { model: { preset: "tiny", tasks: 20 }, warmStart: { episodes: 30 } } as const;
if (process.argv[1] === fileURLToPath(import.meta.url))
  await train({ ...choices, world, iterations: 2, folder: "runs/resource-world" });
