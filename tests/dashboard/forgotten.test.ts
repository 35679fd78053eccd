/**
 * @file A run that is removed and begun again in its folder, on and on, while somebody looks at its episodes: what was said of
 * episodes that are gone is let go of.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { openEpisodeTable } from "../../src/dashboard/episodes/table.ts";
import { temporaryFolder } from "../rollout/support.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const EPISODES = 20;
const CHARACTERS = 2 ** 14;

it("episodes of runs that are gone leave nothing", { timeout: 60_000 }, () => {
  const folder = join(temporaryFolder(), "trajectories");
  const table = openEpisodeTable(folder);
  const heap: number[] = [];
  for (let run = 0; run < 60; run++) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    const lines = Array.from({ length: EPISODES }, (_, number) => episode(run, number));
    writeFileSync(join(folder, "000001.jsonl"), lines.join(""));
    table.update();
    expect(table.length).toBe(EPISODES);
    expect(table.row(`${run}:train/0#0`)?.dropped).toHaveLength(CHARACTERS);
    collectGarbage();
    heap.push(process.memoryUsage().heapUsed);
  }
  const [early, late] = [heap.at(19)!, heap.at(-1)!];
  expect((late - early) / (40 * EPISODES * CHARACTERS)).toBeLessThan(0.1);
});

function episode(run: number, number: number): string {
  const id = `${run}:train/${number}#0`;
  const dropped = `${id} `.padEnd(CHARACTERS, "x");
  return `${JSON.stringify({
    ...{ id, step: 1, group: id, member: 0, task: { id: `train/${number}`, type: "" }, seed: "1" },
    ...{ format: "action", context: "whole", status: "finished", won: false, score: 0, reward: 0 },
    ...{ turns: [], lastObservation: "", attempts: 1, seconds: 0, dropped },
  })}\n`;
}
