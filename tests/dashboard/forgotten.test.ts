/**
 * @file A run that is removed and begun again in its folder, on and on, while somebody looks at its episodes: what was said of
 * episodes that are gone is let go of.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it, onTestFinished, vi } from "vitest";
import { openEpisodeTable } from "../../src/dashboard/episodes/table.ts";
import { temporaryFolder } from "../rollout/support.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const EPISODES = 20;
const CHARACTERS = 2 ** 14;

it("episodes of runs that are gone leave nothing", { timeout: 60_000 }, () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const folder = join(temporaryFolder(), "trajectories");
  const table = openEpisodeTable(folder);
  const heap: number[] = [];
  for (let run = 0; run < 60; run++) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    const lines = Array.from({ length: EPISODES }, (_, number) => episode(run, number));
    writeFileSync(join(folder, "000001.jsonl"), lines.join(""));
    vi.advanceTimersByTime(3000);
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
  const more = { status: "finished", won: false, reward: 0, turns: [], dropped };
  return `${JSON.stringify({ id, step: 1, task: `train/${number}`, group: id, ...more })}\n`;
}
