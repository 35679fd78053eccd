/**
 * @file Worlds that hang, crash, freeze and lie, through the real commands. What is lost is the episode, with a
 * sentence that says why; the command goes on, keeps what is well, and ends in time.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { readMetrics } from "../../src/monitoring/index.ts";
import { readTrajectories } from "../../src/rollout/index.ts";
import { startScript } from "../training/support/processes.ts";
import { newTinyFolder, tinySettings } from "../training/support/runs.ts";

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const BIN = path("../../bin/openmanus-rl.mjs");
const BROKEN = path("./broken-world.ts");
const HANGING = path("./hanging-world.ts");
const STRANGER = path("./strangers-fault.ts");

let parent: string;
let model: string;
beforeAll(() => {
  parent = mkdtempSync(join(tmpdir(), "openmanus-attack-"));
  model = newTinyFolder(parent, "model", ["You are here. You are under way. go stay"]);
});
afterAll(() => rmSync(parent, { recursive: true, force: true }));

/** Why an episode is lost, by its task; undefined: it is kept. */
const EXPECTED: Readonly<Record<string, RegExp | undefined>> = {
  throws: /the world threw/,
  "throws nothing": /undefined was thrown/,
  "throws what cannot be shown": /something that cannot be shown was thrown/,
  "throws megabytes": /^broken: x{900,1000}…$/,
  rejects: /the world rejected/,
  hangs: /step\(\) did not answer within 2 s \(env\.rollout\.step_seconds\)/,
  "is a thenable that hangs": /step\(\) did not answer within 2 s/,
  "gives nothing": /gave null, expected a step's result/,
  "gives a proxy": /hands off/,
  "gives an absurd reward": /gave 1e\+308, expected a reward from -1000000 to 1000000/,
  "gives no number": /gave NaN, expected a finite reward/,
  "gives a text for a reward": /gave "10", expected a finite reward/,
  "gives a score of 50": /gave 50, expected a score from 0 to 1/,
  "is perhaps done": /gave "perhaps", expected done: true or false/,
  "is won and lost": /gave won and lost, expected one of them/,
  "shows no text": /whose text is 7, expected a string/,
  "has a text that throws": /cannot be read: no text/,
  "has a list that throws": /no list/,
  "lists a million actions": /are 1000000 texts, expected at most 50000/,
  "lists ten megabytes": /more than 2000000 characters/,
  "lists numbers": /expected a list of texts/,
  "has info in a circle": /what JSON can hold, 64 levels deep at most/,
  "has deep info": /what JSON can hold, 64 levels deep at most/,
  "has huge info": /with at most 1000000 characters/,
  "shows two megabytes": /has 2000000 characters; at most 200000 are taken/,
  "rejects later": /a promise that it did not wait for was rejected: nobody waits for this/,
  "throws in a timer": /an exception outside of its calls: a timer threw/,
  "throws in a microtask": /an exception outside of its calls: a microtask threw/,
  "throws in a tick": /an exception outside of its calls: a tick threw/,
  "has a socket nobody listens to": /an exception outside of its calls: connect ECONNREFUSED/,
  exits: /its process has ended: exit code 0/,
  "is killed": /its process has ended: signal SIGKILL/,
  freezes: /its process has ended: it was frozen, and was ended/,
  // Where the pipe is full at that moment, the nonsense does not get through, which is an error, too.
  "talks nonsense": /its process has ended: it said something that is no answer|EAGAIN/,
  "eats memory": /its process has ended: SIGABRT.*isolate_memory_mb/,
};

async function command(words: readonly string[], onLine?: (line: string) => void) {
  const { child, ended, lines } = startScript(BIN, words, onLine);
  onTestFinished(() => void child.kill("SIGKILL"));
  const code = await ended;
  return { code, text: lines.join("\n") };
}

/** Checks every stored episode against the table. */
function checkEpisodes(folder: string, least: number): void {
  const all = [...readTrajectories(join(folder, "trajectories"))];
  expect(all.length).toBeGreaterThanOrEqual(least);
  for (const { task, status, error, turns } of all) {
    const expected = EXPECTED[task.id];
    const place = `${task.id}: ${status}: ${error?.slice(0, 300)}`;
    if (expected) {
      expect(status, place).toBe("environment error");
      expect(error, place).toMatch(expected);
    } else {
      expect(status, place).toBe("won");
      expect(turns.map(({ reward }) => reward)).toEqual([0, 10]);
    }
  }
}

describe("a world that is broken in every way", () => {
  it("costs its episodes alone in a rollout", { timeout: 120_000 }, async () => {
    const out = join(parent, "rollout");
    const { code, text } = await command([
      ...["rollout", BROKEN, "--split", "harmless", "--model", model, "--tasks", "100"],
      ...["--step-seconds", "2", "--retries", "1", "--reply-tokens", "4", "--out", out],
    ]);
    expect(code, text).toBe(0);
    checkEpisodes(out, 38);
    // A world that cannot be closed is told, and nothing is lost by it.
    expect(text).toMatch(/a world was not closed: broken: close\(\) failed/);
    expect(text).toMatch(/8 won/);
    const { account } = JSON.parse(readFileSync(join(out, "rollout.json"), "utf8")) as {
      account: { lateFaults: number };
    };
    expect(account.lateFaults).toBe(1);
  });

  it("can do nothing worse in processes of its own", { timeout: 240_000 }, async () => {
    const out = join(parent, "isolated");
    const { code, text } = await command([
      ...["rollout", BROKEN, "--split", "deadly", "--model", model, "--tasks", "100"],
      ...["--step-seconds", "2", "--retries", "0", "--reply-tokens", "4", "--out", out],
      ...["--isolate", "2"],
    ]);
    expect(code, text).toBe(0);
    checkEpisodes(out, 42);
    expect(text).toMatch(/^\[broken\] \[2J\[31mprinted by the world$/m);
  });

  it.each([
    ["harmless", [], 38],
    ["memory", ["env.isolate=1", "env.isolate_memory_mb=64"], 5],
  ])("is trained in, with what is left of it: %s", { timeout: 120_000 }, async (...row) => {
    const [split, isolate, tasks] = row;
    const run = join(parent, `run-${split}`);
    const { code, text } = await command([
      "train",
      ...tinySettings(model, run),
      ...[`env.env_name=${BROKEN}`, `env.train_split=${split}`, ...isolate],
      ...["env.rollout.n=2", `data.train_batch_size=${tasks}`, "env.rollout.step_seconds=2"],
      ...["env.rollout.retries=0", "trainer.total_epochs=1", "data.max_response_length=4"],
    ]);
    expect(code, text).toBe(0);
    checkEpisodes(run, 2 * tasks);
    const { metrics } = readMetrics(join(run, "metrics.jsonl"))[0]!;
    expect(Object.values(metrics).every(Number.isFinite)).toBe(true);
    expect(metrics).toMatchObject({
      "training/left_out_episodes": split === "harmless" ? 60 : 2,
    });
  });
});

describe("a world that never answers", () => {
  it.each([
    ["step", []],
    ["open", ["env.open_seconds=1"]],
  ])("ends a run by its limits: %s()", { timeout: 60_000 }, async (where, more) => {
    const { code, text } = await command([
      ...["train", ...tinySettings(model, join(parent, `hanging-${where}`))],
      ...[`env.env_name=${HANGING}`, `env.options.where=${where}`, "trainer.total_epochs=1"],
      ...["env.rollout.step_seconds=1", "env.rollout.retries=0", ...more],
    ]);
    expect(code).toBe(1);
    expect(text).toMatch(new RegExp(`${where}\\(\\) did not answer within 1 s`));
  });

  it("is told where there is no limit and nothing else can happen", async () => {
    const { code, text } = await command([
      ...["train", ...tinySettings(model, join(parent, "unlimited"))],
      ...[`env.env_name=${HANGING}`, "env.options.where=open", "env.open_seconds=null"],
    ]);
    expect(code, text).toBe(1);
    expect(text).toMatch(
      /train: it waits for open\(\), and nothing is left that could still happen/,
    );
  }, 60_000);

  it.each([
    ["rollout", (out: string) => ["--expert", "--tasks", "4", "--out", out]],
    ["eval", () => []],
    ["sft", (out: string) => ["--out", out, "--episodes", "4"]],
  ])("is left at once on SIGTERM by %s", { timeout: 60_000 }, async (name, more) => {
    const settings = [`env.env_name=${HANGING}`, "env.options.where=step"];
    const words = {
      rollout: [HANGING, "where=step"],
      eval: [model, ...settings],
      sft: ["--model", model, ...settings],
    }[name]!;
    let asked = 0;
    const { child, ended, lines } = startScript(
      BIN,
      [name, ...words, ...more(join(parent, `left-${name}`))],
      (line) => {
        if (!line.includes("hanging now") || asked > 0) return;
        asked = performance.now();
        child.kill("SIGTERM");
      },
    );
    onTestFinished(() => void child.kill("SIGKILL"));
    const code = await ended;
    expect(asked, lines.join("\n")).toBeGreaterThan(0);
    expect(performance.now() - asked).toBeLessThan(20_000);
    expect(code).not.toBe(0);
  });

  it("holds a run that is to end no longer than one answer may take", async () => {
    let asked = 0;
    const { child, ended, lines } = startScript(
      BIN,
      [
        ...["train", ...tinySettings(model, join(parent, "ended"))],
        ...[`env.env_name=${HANGING}`, "env.rollout.step_seconds=4", "env.rollout.retries=9"],
      ],
      (line) => {
        if (!line.includes("hanging now") || asked > 0) return;
        asked = performance.now();
        child.kill("SIGTERM");
      },
    );
    onTestFinished(() => void child.kill("SIGKILL"));
    await ended;
    expect(asked, lines.join("\n")).toBeGreaterThan(0);
    expect(performance.now() - asked).toBeLessThan(25_000);
  }, 60_000);
});

describe("a fault of the program's own, while episodes are played,", () => {
  it.each(["exception", "rejection"])("ends it as ever: %s", { timeout: 60_000 }, async (kind) => {
    const { ended, lines } = startScript(STRANGER, [HANGING, kind]);
    expect(await ended).toBe(1);
    expect(lines.join("\n")).toMatch(/Error: of the program's own\n +at .*strangers-fault\.ts/);
    expect(lines.join("\n")).not.toMatch(/played/);
  });

  it("is heard by the program's own listeners, which stay", { timeout: 60_000 }, async () => {
    const { ended, lines } = startScript(STRANGER, [HANGING, "listened"]);
    expect(await ended).toBe(0);
    expect(lines).toContain("heard: of the program's own");
    expect(lines).toContain("played, 1 listeners left");
  });
});
