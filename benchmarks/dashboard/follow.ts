/**
 * @file Memory of the dashboard's server while it follows a run that writes and pages look: the page of the run and its
 * list of episodes are asked for again whenever something changes, as the browser does, and a third watches it play.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { RunRow } from "../../src/dashboard/index.ts";
import { takeLock } from "../../src/folders/index.ts";
import {
  type LiveFile,
  openLiveFile,
  openMetrics,
  openTokenFolder,
} from "../../src/monitoring/index.ts";
import { eventData } from "../../src/network/index.ts";
import { openTrajectoryStore } from "../../src/rollout/index.ts";
import { appendIteration, madeMetrics, makeRun } from "../../tests/dashboard/support/made-run.ts";
import { statusBytes } from "../measure.ts";
import { startDashboard } from "./server.ts";

export interface FollowFigures {
  readonly minutes: number;
  /** Written while it was followed. */
  readonly iterations: number;
  readonly episodes: number;
  readonly answers: number;
  /** Of the server, once a minute. */
  readonly memory: readonly number[];
}

const MADE = { iterations: 50, groups: 16, members: 8, turns: 4, validations: 50, total: 1e6 };
/** `beat`: seconds between two iterations. */
export async function followed(minutes: number, beat: number): Promise<FollowFigures> {
  const parent = mkdtempSync(join(tmpdir(), "openmanus-follow-"));
  const folder = join(parent, "run");
  makeRun(folder, MADE);
  const lock = takeLock(folder);
  const server = await startDashboard(parent);
  const stop = new AbortController();
  const store = openTrajectoryStore(join(folder, "trajectories"));
  const tokens = openTokenFolder(join(folder, "tokens"));
  const metrics = openMetrics(join(folder, "metrics.jsonl"));
  const live = openLiveFile(join(folder, "live.jsonl"), { episodes: 1, pause: 0 });
  try {
    const looking = look(server.url, stop.signal);
    const begun = performance.now();
    const memory: number[] = [];
    let step = MADE.iterations;
    while (performance.now() - begun < minutes * 60_000) {
      step++;
      metrics.log(step, madeMetrics(step, appendIteration(MADE, step, store, tokens)));
      await draw(live, step, beat * 1000);
      if (performance.now() - begun < (memory.length + 1) * 60_000) continue;
      memory.push(statusBytes("VmRSS", server.pid));
      console.error(
        `${memory.length} min, iteration ${step}: ${(memory.at(-1)! / 1e6).toFixed(0)} MB`,
      );
    }
    stop.abort();
    const iterations = step - MADE.iterations;
    const episodes = iterations * MADE.groups * MADE.members;
    return { minutes, iterations, episodes, answers: await looking, memory };
  } finally {
    stop.abort();
    server.stop();
    for (const open of [store, metrics, live]) open.close();
    lock.release();
    rmSync(parent, { recursive: true, force: true });
  }
}

/** An episode of as many tokens as there are tenths of a second. */
async function draw(live: LiveFile, step: number, milliseconds: number): Promise<void> {
  const tokens = { stream: () => ({ push: (id: number) => ` word${id}`, finish: () => "" }) };
  const watch = live.iteration(
    step,
    tokens,
    true,
  )({
    ...{ id: `${step}:train/0#0`, step, place: 0, member: 0, attempt: 0 },
    task: { environment: "household", split: "train", id: "train/0" },
  })!;
  watch.told(0, "You see a lamp 1.");
  for (let id = 0; id < milliseconds / 100; id++) {
    watch.token?.(0, { id, logprob: -1, sampledLogprob: -1 });
    await pause(100);
  }
}

/** As two pages would; returns how many answers there were. */
async function look(url: string, signal: AbortSignal): Promise<number> {
  let answers = 0;
  try {
    const [row] = (await (await fetch(`${url}/api/runs`)).json()) as RunRow[];
    void watchLive(url, row!.id, signal).catch(() => {});
    const events = await fetch(`${url}/api/events`, { signal });
    for await (const _ of eventData(events.body! as AsyncIterable<Uint8Array>, 2 ** 20)) {
      await (await fetch(`${url}/api/runs/${row!.id}`, { signal })).text();
      await (await fetch(`${url}/api/runs/${row!.id}/episodes?limit=100`, { signal })).text();
      answers += 2;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return answers;
}

async function watchLive(url: string, run: string, signal: AbortSignal): Promise<void> {
  const events = await fetch(`${url}/api/runs/${run}/live`, { signal });
  for await (const _ of eventData(events.body! as AsyncIterable<Uint8Array>, 2 ** 22));
}
