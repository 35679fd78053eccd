/**
 * @file kill -9 of what a run has beside it in processes of their own, as commands: the server of its world, which comes back
 * and is asked again; a dashboard that reads it; a served model that records. What was begun is begun again, what was written
 * is whole, and the run is bitwise the one that nobody disturbed.
 */
import { once } from "node:events";
import { join } from "node:path";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import { readTrajectories } from "../../src/rollout/index.ts";
import { type RunningServer, run, startServer } from "../attack/command.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { resultsOf, startRun } from "./support/processes.ts";
import { LIGHTS, tinySettings, warmTinyFolder } from "./support/runs.ts";

const parent = temporaryFolder();
let warm: string;

beforeAll(async () => {
  warm = await warmTinyFolder(parent, { episodes: 60, epochs: 3 });
}, 240_000);

const ITERATIONS = 4;
const settings = (run: string, own: readonly string[]) => [
  ...tinySettings(warm, run),
  ...["algorithm.adv_estimator=grpo", `trainer.total_epochs=${ITERATIONS}`],
  ...own,
];

/** It is killed with the test, at the latest. */
async function started(words: readonly string[]): Promise<RunningServer> {
  const server = await startServer(words);
  onTestFinished(() => void server.child.kill("SIGKILL"));
  return server;
}

async function killed({ child }: RunningServer): Promise<void> {
  const ended = once(child, "close");
  child.kill("SIGKILL");
  await ended;
}

/** A run during which something is done, once, while the iteration after the second is played. */
async function disturbed(folder: string, own: readonly string[], disturb: () => Promise<void>) {
  let done: Promise<void> | undefined;
  const run = startRun(settings(folder, own), (line) => {
    if (line === "at 2") done ??= disturb();
  });
  onTestFinished(() => void run.child.kill("SIGKILL"));
  expect(await run.ended, run.lines.join("\n")).toBe(0);
  await done;
}

it("the server of a run's world, which is started again", { timeout: 240_000 }, async () => {
  const serving = ["env", "serve", LIGHTS, "--kind", "textcraft", "--split", "train"];
  let server = await started(serving);
  const own = [
    ...["env.env_name=agentgym", `env.options.url=[${server.url}]`, "env.options.kind=textcraft"],
    ...["env.options.tasks=40", "env.options.retries=60", "env.options.wait=0.1"],
    "env.rollout.step_seconds=100",
  ];
  const [quiet, loud] = [join(parent, "quiet"), join(parent, "loud")];
  await disturbed(quiet, own, async () => {});
  await disturbed(loud, own, async () => {
    await killed(server);
    server = await started([...serving, "--port", String(server.port)]);
  });
  const expected = resultsOf(quiet, ITERATIONS);
  expect(resultsOf(loud, ITERATIONS)).toEqual(expected);
  expect(expected.episodes.every(({ turns }) => turns.length > 0)).toBe(true);
});

it("a dashboard that reads a run: the run hears nothing of it", { timeout: 240_000 }, async () => {
  const runs = join(parent, "runs");
  const words = ["dashboard", parent, "--port", "0"];
  const dashboard = await started(words);
  const seen = async ({ url }: RunningServer) =>
    (await (await fetch(`${url}/api/runs`)).json()) as { folder: string; state: object }[];
  const [quiet, loud] = [join(runs, "quiet"), join(runs, "loud")];
  await disturbed(quiet, [], async () => {});
  await disturbed(loud, [], async () => {
    await seen(dashboard);
    await killed(dashboard);
  });
  expect(resultsOf(loud, ITERATIONS)).toEqual(resultsOf(quiet, ITERATIONS));
  const rows = await seen(await started(words));
  expect(rows.find(({ folder }) => folder.endsWith("loud"))).toMatchObject({
    state: { name: "finished" },
  });
});

it("a served model that records: sessions that had ended are whole", {
  timeout: 240_000,
}, async () => {
  const record = join(parent, "record");
  const words = ["serve", warm, "--port", "0", "--record", record];
  const ask = async ({ url }: RunningServer, session: string) => {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-session-id": session },
      body: JSON.stringify({
        messages: [{ role: "user", content: `It is ${session}.` }],
        ...{ max_tokens: 4, return_token_ids: true },
      }),
    });
    expect(answer.status).toBe(200);
    const { choices } = (await answer.json()) as { choices: { token_ids: number[] }[] };
    return choices[0]!.token_ids;
  };
  const ended = ({ url }: RunningServer, session: string) =>
    fetch(`${url}/v1/sessions/${session}`, { method: "DELETE" });
  const first = await started(words);
  const other = await run(words);
  expect(other.errors).toMatch(/record: process \d+ is at work in this folder.*--record/);
  expect(other.code).toBe(1);
  const whole = await ask(first, "whole");
  await ask(first, "lost");
  expect((await ended(first, "whole")).status).toBe(200);
  await killed(first);
  const second = await started(words);
  const after = await ask(second, "after");
  expect((await ended(second, "after")).status).toBe(200);
  await killed(second);
  const recorded = [...readTrajectories(record)].map(({ turns }) => turns[0]!.reply.ids);
  expect(recorded).toEqual([whole, after]);
});
