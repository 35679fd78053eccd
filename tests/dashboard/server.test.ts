/**
 * @file The dashboard's server over real sockets: what it says of runs in every state, while they write, and to whom.
 */
import { appendFileSync, mkdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type {
  Columns,
  EpisodeList,
  EpisodePage,
  FailureList,
  LiveEvent,
  RunPage,
  RunRow,
  StepGroupPage,
} from "../../src/dashboard/index.ts";
import { serveDashboard } from "../../src/dashboard/index.ts";
import { takeLock } from "../../src/folders/index.ts";
import { openTokenFolder } from "../../src/monitoring/index.ts";
import { eventData } from "../../src/network/index.ts";
import { openTrajectoryStore } from "../../src/rollout/index.ts";
import { newModelFolder, temporaryFolder } from "../rollout/support.ts";
import { appendIteration, makeRun } from "./support/made-run.ts";

const parent = temporaryFolder();
const runs = join(parent, "runs");
let model: string;

async function served(folder = runs): Promise<string> {
  const server = await serveDashboard({ folders: [folder] });
  onTestFinished(() => server.close());
  return server.url;
}

async function ask<Value>(url: string, path: string): Promise<Value> {
  const answer = await fetch(`${url}/api/${path}`);
  expect(answer.status, path).toBe(200);
  return (await answer.json()) as Value;
}

const rowOf = async (url: string, name: string) =>
  (await ask<RunRow[]>(url, "runs")).find(({ folder }) => folder.endsWith(`/${name}`))!;

beforeAll(() => {
  model = newModelFolder(parent);
  makeRun(join(runs, "a", "finished"), { iterations: 12, end: "finished", model });
  makeRun(join(runs, "a", "failed"), { iterations: 4, end: "failed", total: 20 });
  makeRun(join(runs, "a", "interrupted"), { iterations: 2, end: "killed", total: 20 });
  makeRun(join(runs, "b", "killed"), { iterations: 2, total: 20 });
});

describe("runs", () => {
  it("are found below their folder, with state, success and curve", async () => {
    const url = await served();
    const rows = await ask<RunRow[]>(url, "runs");
    const states = Object.fromEntries(
      rows.map(({ folder, state }) => [folder.split("/").at(-1), state]),
    );
    expect(states).toEqual({
      finished: { name: "finished" },
      failed: { name: "stopped", reason: "the policy has fallen" },
      interrupted: { name: "interrupted" },
      killed: { name: "killed" },
    });
    expect(await rowOf(url, "finished")).toMatchObject({
      algorithm: "gigpo",
      world: "household",
      seed: "0",
      iterations: 12,
      total: 12,
      episodes: 96,
      minutes: expect.closeTo(0.4, 6),
      success: { count: 8, value: expect.any(Number) },
    });
    // Held by a process that lives: this one.
    const lock = takeLock(join(runs, "b", "killed"));
    expect((await rowOf(url, "killed")).state.name).toBe("running");
    lock.release();
    expect((await rowOf(url, "killed")).state.name).toBe("killed");
  });

  it("one of them: verdict, columns, log, configuration", async () => {
    const url = await served();
    const { id } = await rowOf(url, "finished");
    const page = await ask<RunPage>(url, `runs/${id}`);
    expect(page.columns.steps).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    expect(page.columns.values["timing_s/step"]).toEqual(Array(12).fill(2));
    expect(page.verdict!.before.step).toBe(0);
    expect(page.verdict!.after.step).toBe(10);
    expect(page.verdict!.gained - page.verdict!.lost).toBe(
      Math.round(8 * (page.verdict!.after.value - page.verdict!.before.value)),
    );
    expect(page.validated).toEqual([0, 5, 10]);
    expect(page.recorded).toHaveLength(12);
    expect(page.config).toContain("adv_estimator: gigpo");
    expect(page.log.map(({ kind }) => kind)).toEqual(["begun", "said", "ended"]);
    const later = await ask<Columns>(url, `runs/${id}/metrics?after=10`);
    expect(later.steps).toEqual([11, 12]);
  });

  it("damaged files leave what is whole", async () => {
    const folder = join(parent, "damaged");
    makeRun(join(folder, "run"), { iterations: 3 });
    const file = (name: string) => join(folder, "run", name);
    appendFileSync(file("metrics.jsonl"), '{"step": 4, "episode/succ');
    appendFileSync(file("log.jsonl"), "no JSON\n");
    writeFileSync(file("tokens/000002.gz"), "nothing");
    writeFileSync(file("versions.json"), "{");
    writeFileSync(file("config.yaml"), "a: [");
    const url = await served(folder);
    const { id } = await rowOf(url, "run");
    const page = await ask<RunPage>(url, `runs/${id}`);
    expect(page.columns.steps).toEqual([1, 2, 3]);
    const { rows } = await ask<EpisodeList>(url, `runs/${id}/episodes?from=2&to=2`);
    expect(rows).toHaveLength(8);
    expect(rows.every(({ recorded }) => !recorded)).toBe(true);
    const episode = await ask<EpisodePage>(
      url,
      `runs/${id}/episodes/${encodeURIComponent(rows[0]!.id)}`,
    );
    expect(episode.columns).toBeUndefined();
    // Its model is gone: ids without texts.
    expect(episode.turns[0]!.tokens[0]).toEqual({ id: 10 });
  });
});

describe("episodes", () => {
  it("are filtered, sorted, searched and shown in parts", async () => {
    const url = await served();
    const { id } = await rowOf(url, "finished");
    const list = (query: string) => ask<EpisodeList>(url, `runs/${id}/episodes?${query}`);
    const all = await list("limit=1000");
    expect(all).toMatchObject({ all: 96, found: 96, types: ["clean", "pick"], partial: false });
    expect(all.rows).toHaveLength(96);
    const won = await list("won=1&sort=step&descending=1");
    expect(won.found).toBe(all.rows.filter((row) => row.won).length);
    expect(won.rows[0]!.step).toBe(12);
    expect((await list("status=turn%20limit")).found).toBe(96 - won.found);
    expect((await list("type=clean&from=3&to=4")).found).toBe(8);
    expect((await list("task=train/1&from=5&to=5")).found).toBe(4);
    expect((await list("recorded=1&from=5&to=5")).found).toBe(4);
    expect((await list("text=SHELF%202")).found).toBe(24);
    expect((await list("text=nowhere")).found).toBe(0);
    expect((await list("exactly=train/1")).found).toBe(48);
    expect((await list("exactly=train/")).found).toBe(0);
    const failures = await ask<FailureList>(url, `runs/${id}/failures?from=1`);
    expect(failures).toMatchObject({ count: 96 - won.found, partial: false });
    expect(Object.keys(failures.classes)).toEqual(["out of turns"]);
    const part = await list("offset=90&limit=10");
    expect(part.rows).toHaveLength(6);
    expect((await list("offset=-5&limit=x&sort=constructor&from=zero")).rows).toHaveLength(96);
    expect((await list("kind=validation")).all).toBe(24);
  });

  it("one of them: turns, texts of tokens, what the update knew", async () => {
    const url = await served();
    const { id } = await rowOf(url, "finished");
    const name = encodeURIComponent("5:train/0#1");
    const page = await ask<EpisodePage>(url, `runs/${id}/episodes/${name}`);
    expect(page.row).toMatchObject({ id: "5:train/0#1", step: 5, recorded: true });
    expect(page.turns).toHaveLength(3);
    expect(page.turns[0]!.tokens.every(({ text }) => typeof text === "string")).toBe(true);
    expect(page.turns[2]!.recorded).toEqual({ tokens: 3, return: 0.95 ** 2, stepGroup: 2 });
    expect(page.columns!.advantage).toHaveLength(9);
    // The second of four episodes with nine tokens each.
    const group = await ask<StepGroupPage>(
      url,
      `runs/${id}/groups/${encodeURIComponent("5:train/0")}`,
    );
    expect(group.episodes.map(({ row }) => row.id)).toEqual(
      [0, 1, 2, 3].map((i) => `5:train/0#${i}`),
    );
    expect(group.episodes[1]!.turns.map(({ advantage }) => advantage)).toEqual(
      [0, 3, 6].map((at) => page.columns!.advantage![at]),
    );
    expect(page.group).toHaveLength(4);
  });
});

describe("a run that writes", () => {
  it("is followed by events, also where it goes back", { timeout: 60_000 }, async () => {
    const folder = join(parent, "live");
    const run = join(folder, "run");
    const made = { iterations: 2, total: 9 };
    makeRun(run, made);
    const lock = takeLock(run);
    onTestFinished(() => lock.release());
    const url = await served(folder);
    const { id } = await rowOf(url, "run");
    const stop = new AbortController();
    const events = await fetch(`${url}/api/events`, { signal: stop.signal });
    expect(events.headers.get("content-type")).toBe("text/event-stream");
    const reader = events.body!.pipeThrough(new TextDecoderStream()).getReader();
    let heard = "";
    const hear = async (what: RegExp) => {
      while (!what.test(heard)) heard += (await reader.read()).value ?? "";
      heard = "";
    };
    await hear(/retry/);
    appendFileSync(join(run, "metrics.jsonl"), '{"step": 3, "episode/success_rate": 0.5}\n');
    await hear(new RegExp(`"run":"${id}","steps":3,"anew":false`));
    expect((await ask<Columns>(url, `runs/${id}/metrics?after=2`)).steps).toEqual([3]);
    // Of episodes it tells when somebody has asked for them.
    expect((await ask<EpisodeList>(url, `runs/${id}/episodes?from=3`)).found).toBe(0);
    const store = openTrajectoryStore(join(run, "trajectories"));
    appendIteration(made, 3, store, openTokenFolder(join(run, "tokens")));
    store.close();
    await hear(/"steps":3/);
    expect((await ask<EpisodeList>(url, `runs/${id}/episodes?from=3`)).found).toBe(8);
    // A resumed run plays the third iteration again, and another way.
    truncateSync(join(run, "metrics.jsonl"), 0);
    appendFileSync(join(run, "metrics.jsonl"), '{"step": 1, "episode/success_rate": 0.25}\n');
    await hear(/"steps":1,"anew":true/);
    expect((await ask<Columns>(url, `runs/${id}/metrics`)).values["episode/success_rate"]).toEqual([
      0.25,
    ]);
    // A new run appears by itself, and one that is removed is gone.
    makeRun(join(folder, "other"), { iterations: 1 });
    await hear(/"anew":true/);
    expect(await ask<RunRow[]>(url, "runs")).toHaveLength(2);
    rmSync(join(folder, "other"), { recursive: true });
    expect(await ask<RunRow[]>(url, "runs")).toHaveLength(1);
    stop.abort();
    await reader.cancel().catch(() => {});
  });
});

describe("a file of live episodes", () => {
  it("is told as far as it makes sense, and not where it is none of ours", async () => {
    const folder = join(parent, "watched");
    makeRun(join(folder, "run"), { iterations: 1 });
    const file = join(folder, "run", "live.jsonl");
    const url = await served(folder);
    const { id } = await rowOf(url, "run");
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const events = await fetch(`${url}/api/runs/${id}/live`, { signal: stop.signal });
    const heard = eventData(events.body! as AsyncIterable<Uint8Array>, 2 ** 22);
    const next = async () => JSON.parse((await heard.next()).value as string) as LiveEvent;
    const line = (iteration: number) => `${JSON.stringify({ kind: "iteration", iteration })}\n`;
    writeFileSync(file, "x".repeat(5_000_000));
    writeFileSync(file, `${line(1)}no line\n{"kind": 7}\nnull\n{"kind":"full"}\n{"kind":"iter`);
    expect(await next()).toEqual({
      anew: true,
      lines: [{ kind: "iteration", iteration: 1 }, { kind: "full" }],
    });
    // The same length, another iteration.
    writeFileSync(file, line(2));
    expect(await next()).toMatchObject({ anew: true, lines: [{ iteration: 2 }] });
    appendFileSync(file, line(3));
    expect(await next()).toMatchObject({ anew: false, lines: [{ iteration: 3 }] });
  });
});

describe("nobody", () => {
  it("reads what is not a run's, or changes anything", async () => {
    const url = await served();
    const { id } = await rowOf(url, "finished");
    mkdirSync(join(parent, "secret"), { recursive: true });
    writeFileSync(join(parent, "secret", "run.json"), "{}");
    for (const path of [
      "/api/runs/..%2f..%2fsecret",
      "/api/runs/constructor",
      `/api/runs/${id}/episodes/..%2f..%2frun.json`,
      `/api/runs/${id}/nothing`,
      "/api",
      "/api/secret",
      "/..%2fpackage.json",
      "/package.json",
      "/page.js.map",
      "/%00",
    ])
      expect((await fetch(url + path)).status, path).toBe(404);
    expect((await fetch(`${url}/api/runs/%ff`)).status).toBe(400);
    for (const method of ["POST", "PUT", "DELETE"]) {
      const answer = await fetch(`${url}/api/runs`, {
        method,
        body: "{}",
        headers: { "content-type": "application/json" },
      });
      expect(answer.status).toBe(405);
    }
    const foreign = await fetch(`${url}/api/runs`, {
      headers: { origin: "https://elsewhere.example" },
    });
    expect(foreign.status).toBe(403);
    const page = await fetch(url);
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(await page.text()).toContain('<script src="/page.js">');
  });
});
