/**
 * @file Playing a run's world through the dashboard: over HTTP, in a real browser, and who may not.
 */
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { playSessions } from "../../src/dashboard/play/sessions.ts";
import {
  type BeginPlay,
  type LiveEvent,
  type PlayPermission,
  type PlayTable,
  type RunPage,
  type RunRow,
  serveDashboard,
} from "../../src/dashboard/index.ts";
import type { LiveLine } from "../../src/monitoring/index.ts";
import { eventData } from "../../src/network/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { tinyRun, warmTinyFolder } from "../training/support/runs.ts";
import { isBrowserMissing, openPage } from "./support/browser.ts";
import { makeRun } from "./support/made-run.ts";

const parent = temporaryFolder();
let run: string;

beforeAll(async () => {
  const warm = await warmTinyFolder(parent);
  ({ run } = await tinyRun(parent, warm, ["trainer.total_epochs=2", "trainer.save_freq=1"]));
}, 240_000);

async function served(play: PlayPermission | undefined, folder = run) {
  const server = await serveDashboard({ folders: [folder], ...(play && { play }) });
  onTestFinished(() => server.close());
  const [row] = (await (await fetch(`${server.url}/api/runs`)).json()) as RunRow[];
  return { url: server.url, id: row!.id };
}

async function post<Value>(url: string, path: string, body: unknown = {}) {
  const answer = await fetch(`${url}/api/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: answer.status, value: (await answer.json()) as Value & { detail?: string } };
}

/** Lines of a session as they come. */
async function listening(url: string, session: string) {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const events = await fetch(`${url}/api/play/${session}/events`, { signal: stop.signal });
  const pieces = eventData(events.body! as AsyncIterable<Uint8Array>, 2 ** 20);
  let lines: LiveLine[] = [];
  return async (is: (lines: readonly LiveLine[]) => boolean) => {
    while (!is(lines)) {
      const { value, done } = await pieces.next();
      if (done) throw new Error("the events have ended");
      const event = JSON.parse(value) as LiveEvent;
      lines = event.anew ? [...event.lines] : [...lines, ...event.lines];
    }
    return lines;
  };
}

const has =
  (kind: LiveLine["kind"], count = 1) =>
  (lines: readonly LiveLine[]) =>
    lines.filter((line) => line.kind === kind).length >= count;
const only = <Kind extends LiveLine["kind"]>(lines: readonly LiveLine[], kind: Kind) =>
  lines.filter((line): line is Extract<LiveLine, { kind: Kind }> => line.kind === kind);

describe("over HTTP", { timeout: 120_000 }, () => {
  it("one is the agent, then a checkpoint is, turn by turn", async () => {
    const { url, id } = await served({});
    expect(((await (await fetch(`${url}/api/runs/${id}`)).json()) as RunPage).isPlayable).toBe(
      true,
    );
    const { value: table } = await post<PlayTable>(url, `runs/${id}/play`);
    expect(table).toMatchObject({ iterations: [1, 2], split: expect.any(String) });
    const { session } = table;
    const until = await listening(url, session);
    const given: BeginPlay = { split: table.split, task: "0", seed: 1 };
    expect(await post(url, `play/${session}/begin`, given)).toEqual({ status: 200, value: {} });
    const first = await until(has("told"));
    expect(only(first, "told")[0]!.admissible).toEqual(["stop", "go", "wait"]);
    await post(url, `play/${session}/act`, { action: "dance" });
    const acted = await until(has("acted"));
    expect(only(acted, "acted")[0]).toMatchObject({ action: "dance", reward: 0 });
    // Whoever begins anew sees the same again, as whoever asks by the task's name does.
    const name = only(first, "begun")[0]!.task;
    await post(url, `play/${session}/begin`, { ...given, task: name });
    const again = await until((lines) => has("told")(lines) && !has("acted")(lines));
    expect(only(again, "told")).toEqual(only(first, "told"));
    // A policy waits before every reply.
    await post(url, `play/${session}/begin`, { ...given, iteration: 2 });
    await until((lines) => has("told")(lines) && !has("acted")(lines));
    await post(url, `play/${session}/go`, { turns: 1 });
    const one = await until(has("acted"));
    expect(only(one, "drawn").length).toBeGreaterThan(0);
    await post(url, `play/${session}/go`, { turns: 1000 });
    const whole = await until(has("ended"));
    // The same seed, the same episode.
    await post(url, `play/${session}/begin`, { ...given, iteration: 2 });
    await until((lines) => has("told")(lines) && !has("drawn")(lines));
    await post(url, `play/${session}/go`, { turns: 1000 });
    expect(await until(has("ended"))).toEqual(whole);
    expect((await post(url, `play/${session}/close`)).status).toBe(200);
    expect((await post(url, `play/${session}/go`, { turns: 1 })).status).toBe(404);
  });

  it("is only there where it was allowed, takes only what makes sense, and not from everybody", async () => {
    const closed = await served(undefined);
    expect((await post(closed.url, `runs/${closed.id}/play`)).status).toBe(405);
    const { url, id } = await served({});
    const { value: table } = await post<PlayTable>(url, `runs/${id}/play`);
    const place = `play/${table.session}`;
    const begin = { split: table.split, task: "0", seed: 0 };
    for (const [path, body, detail] of [
      [`${place}/act`, { action: "go" }, /begin a task first/],
      [`${place}/go`, { turns: 1 }, /begin a task first/],
      [`${place}/begin`, { ...begin, split: "nowhere" }, /no split "nowhere"/],
      [`${place}/begin`, { ...begin, task: "nothing" }, /no task "nothing"/],
      [`${place}/begin`, { ...begin, task: "100000" }, /no task 100000/],
      [`${place}/begin`, { ...begin, iteration: 7 }, /no policy of iteration 7/],
      [`${place}/begin`, { ...begin, seed: -1 }, /seed/],
      [`${place}/go`, { turns: 1e9 }, /turns/],
      [`${place}/act`, { action: "x".repeat(30_000) }, /action/],
    ] as const) {
      const { status, value } = await post(url, path, body);
      expect(status, path).toBe(400);
      expect(value.detail, path).toMatch(detail);
    }
    expect((await post(url, `${place}/dance`)).status).toBe(404);
    expect((await post(url, "play/nobody/go", { turns: 1 })).status).toBe(404);
    expect((await post(url, "runs/nobody/play")).status).toBe(404);
    const ask = (headers: Record<string, string>, body: string) =>
      fetch(`${url}/api/${place}/begin`, { method: "POST", headers, body });
    const json = { "content-type": "application/json" };
    const text = JSON.stringify(begin);
    expect((await ask({ ...json, origin: "https://elsewhere.example" }, text)).status).toBe(403);
    expect((await ask({ "content-type": "text/plain" }, text)).status).toBe(415);
    expect((await ask(json, "{")).status).toBe(400);
    expect((await ask(json, `"${"x".repeat(2 ** 21)}"`)).status).toBe(413);
    // Four games at once, and no more.
    for (const _ of [1, 2, 3]) expect((await post(url, `runs/${id}/play`)).status).toBe(200);
    expect((await post(url, `runs/${id}/play`)).status).toBe(503);
    await post(url, `${place}/close`);
    expect((await post(url, `runs/${id}/play`)).status).toBe(200);
  });

  it("starts no program on a run's word, and knows no world without a checkpoint", async () => {
    const folder = join(parent, "commanding");
    cpSync(run, folder, { recursive: true });
    const note = join(folder, "checkpoints", "step-000002", "actor", "openmanus-rl.json");
    const { length } = readFileSync(note);
    const env = { env_name: "tools", options: { mcp: "touch something" } };
    // A checkpoint knows how long its files are.
    writeFileSync(note, JSON.stringify({ env }).padEnd(length));
    const { url, id } = await served({}, folder);
    const { status, value } = await post(url, `runs/${id}/play`);
    expect(status).toBe(400);
    expect(value.detail).toMatch(/is a command, and is not run on the word/);
    makeRun(join(parent, "made"), { iterations: 2 });
    const made = await served({}, join(parent, "made"));
    expect((await post(made.url, `runs/${made.id}/play`)).value.detail).toMatch(
      /no checkpoint yet/,
    );
  });

  it("closes what nobody uses", async () => {
    const sessions = playSessions({}, { idleMinutes: 0.01 });
    onTestFinished(() => sessions.close());
    const { session } = await sessions.open(run);
    await expect.poll(() => sessions.isOpen(session), { timeout: 30_000 }).toBe(false);
  });
});

describe.skipIf(isBrowserMissing())("in the browser", { timeout: 180_000 }, () => {
  it("by typing, by clicking, and step by step", async () => {
    const { url, id } = await served({});
    const { page, complaints } = await openPage();
    await page.goto(`${url}/#/run/${id}`);
    await page.getByRole("link", { name: "play", exact: true }).click();
    await page.getByRole("button", { name: "begin" }).click();
    await page.getByLabel("action").fill("<b>dance</b>");
    await page.keyboard.press("Enter");
    await page.getByText("<b>dance</b>").waitFor();
    await page.getByText("turn 2 · told").waitFor();
    await page.getByRole("button", { name: "wait", exact: true }).click();
    await page.getByText(/turn 3 · told|at the end/).waitFor();
    await page.getByLabel("who").selectOption({ label: "the policy after iteration 2 (last)" });
    await page.getByRole("button", { name: "begin" }).click();
    await page.getByRole("button", { name: "step" }).waitFor();
    expect(await page.locator(".token").count()).toBe(0);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "step" }).click();
    await page.locator(".token").first().waitFor();
    const end = page.getByRole("button", { name: "to the end" });
    await Promise.race([end.click().catch(() => {}), page.getByText("at the end").waitFor()]);
    await page.getByText("at the end").waitFor();
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    expect(complaints).toEqual([]);
    await page.close();
  });
});
