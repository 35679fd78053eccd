/**
 * @file Several ranks through the commands: the command starts them itself, ranks that were started otherwise are
 * refused, one that is interrupted or killed ends all, no shared folder is needed, and `sft`, `eval` and `rollout`
 * give with ranks what they give without.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, it } from "vitest";
import { loadModel } from "../../src/models/index.ts";
import { readMetrics } from "../../src/monitoring/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import {
  LIGHTS,
  largestDifference,
  tinySettings,
  warmTinyFolder,
  weightsOf,
} from "../training/support/runs.ts";

const BIN = fileURLToPath(new URL("../../bin/openmanus-rl.mjs", import.meta.url));
const parent = temporaryFolder();
const LONG = { timeout: 280_000 };
let warm: string;

beforeAll(async () => {
  warm = await warmTinyFolder(parent);
}, 240_000);

interface Running {
  readonly child: ChildProcess;
  readonly lines: string[];
  readonly ended: Promise<number | null>;
}

function start(words: readonly string[], variables: NodeJS.ProcessEnv = {}): Running {
  const child = spawn(process.execPath, [BIN, ...words], {
    env: { ...process.env, ...variables },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on("line", (line) => lines.push(line));
  return { child, lines, ended: new Promise((resolve) => child.on("close", resolve)) };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Ranks as a person starts them by hand, each with words of its own. */
async function byHand(words: readonly (readonly string[])[]): Promise<Running[]> {
  const port = await freePort();
  return words.map((own, rank) =>
    start(own, {
      ...{ RANK: `${rank}`, WORLD_SIZE: `${words.length}` },
      ...{ MASTER_ADDR: "127.0.0.1", MASTER_PORT: `${port}` },
    }),
  );
}

const settings = (folder: string, ...own: string[]) => [
  "train",
  ...tinySettings(warm, folder),
  ...["trainer.total_epochs=2", "trainer.save_freq=1", "algorithm.adv_estimator=grpo", ...own],
];

async function untilLine({ lines, child }: Running, what: RegExp): Promise<void> {
  while (!lines.some((line) => what.test(line))) {
    if (child.exitCode !== null) throw new Error(lines.join("\n"));
    await wait(50);
  }
}

it("trainer.n_gpus_per_node starts the ranks, and shows one view", LONG, async () => {
  const folder = join(parent, "local");
  const run = start(settings(folder, "trainer.n_gpus_per_node=2", "trainer.test_freq=2"));
  expect(await run.ended, run.lines.join("\n")).toBe(0);
  const text = run.lines.join("\n");
  expect(run.lines.filter((line) => line.startsWith("step 1/2"))).toHaveLength(1);
  expect(text).not.toMatch(/not shared/);
  // What is printed exists, and has the episodes of both.
  for (const [, path] of text.matchAll(/^(?:policy|report) +(\S+)/gm))
    expect(existsSync(path!), path).toBe(true);
  const list = start(["trajectories", "list", folder]);
  expect(await list.ended).toBe(0);
  expect(list.lines.filter((line) => /^\d+:/.test(line)).length).toBe(18);
  expect(readdirSync(folder).filter((name) => /-\d$/.test(name))).toEqual([]);
});

it(
  "a rank with another setting, model or data is refused, and nothing is written",
  LONG,
  async () => {
    const other = join(parent, "other-model");
    cpSync(warm, other, { recursive: true });
    const weights = join(other, "model.safetensors");
    const bytes = readFileSync(weights);
    bytes[bytes.length - 1]! ^= 1;
    writeFileSync(weights, bytes);
    const cases: [own: string[], what: RegExp][] = [
      [
        ["actor_rollout_ref.actor.optim.lr=0.5"],
        /the same configuration:\n.*optim\.lr: 0\.001 on rank 0 \(.+\), 0\.5 on rank 1/,
      ],
      [[`actor_rollout_ref.model.path=${other}`], /the same model:\n.*weights: "\w+" on rank 0/],
      [["env.env_name=./missing-world.ts"], /missing-world/],
    ];
    for (const [own, what] of cases) {
      const folder = join(parent, "refused");
      const ranks = await byHand([settings(folder), [...settings(folder), ...own]]);
      for (const { ended, lines } of ranks) {
        expect(await ended, lines.join("\n")).toBe(1);
        expect(lines.join("\n")).toMatch(what);
        expect(lines.join("\n")).not.toMatch(/\n\s+at /);
      }
      expect(existsSync(folder)).toBe(false);
    }
  },
);

it("SIGINT to one rank finishes the iteration on all, and the run goes on", LONG, async () => {
  const folder = join(parent, "interrupted");
  const words = settings(folder, "trainer.total_epochs=300");
  const ranks = await byHand([words, words]);
  await untilLine(ranks[0]!, /step +\d+\/300/);
  ranks[1]!.child.kill("SIGINT");
  for (const { ended, lines } of ranks) expect(await ended, lines.join("\n")).toBe(130);
  const { step } = readMetrics(join(folder, "metrics.jsonl")).at(-1)!;
  // With another number of ranks: one.
  const again = start(settings(folder, `trainer.total_epochs=${step + 1}`));
  expect(await again.ended, again.lines.join("\n")).toBe(0);
  expect(again.lines.join("\n")).toMatch(new RegExp(`going on after iteration ${step}`));
});

it("a rank that is killed ends the others at once, with a sentence", LONG, async () => {
  const words = settings(join(parent, "killed"), "trainer.total_epochs=300");
  const ranks = await byHand([words, words]);
  await untilLine(ranks[0]!, /step +\d+\/300/);
  const since = performance.now();
  ranks[1]!.child.kill("SIGKILL");
  await Promise.all(ranks.map(({ ended }) => ended));
  expect(performance.now() - since).toBeLessThan(5000);
  const text = ranks[0]!.lines.join("\n");
  expect(text).toMatch(/rank 0 of 2 on .+: rank 1 \(process \d+ on .+\) died/);
  expect(text).toMatch(/goes on from the last checkpoint/);
  expect(text).not.toMatch(/\n\s+at /);
});

it.each([0, 1])(
  "a machine of rank %i that falls silent is noticed within 30 s",
  LONG,
  async (gone) => {
    const words = settings(join(parent, `silent-${gone}`), "trainer.total_epochs=9999");
    const ranks = await byHand([words, words]);
    await untilLine(ranks[0]!, /step +\d+\/9999/);
    // As if its network were cut: nothing closes, nothing is said.
    const since = performance.now();
    ranks[gone]!.child.kill("SIGSTOP");
    const left = ranks[1 - gone]!;
    expect(await left.ended).toBe(1);
    expect(performance.now() - since).toBeLessThan(30_000);
    ranks[gone]!.child.kill("SIGKILL");
    expect(left.lines.join("\n")).toMatch(/rank \d.* has not been heard for 15\.0 s: its machine/);
  },
);

it("kill -9 of the launcher leaves no rank; Ctrl-C ends with 130", LONG, async () => {
  const folder = join(parent, "launcher");
  const words = settings(folder, "trainer.total_epochs=300", "trainer.n_gpus_per_node=2");
  const run = start(words);
  await untilLine(run, /step +\d+\/300/);
  const children = childrenOf(run.child.pid!);
  expect(children.length).toBe(2);
  run.child.kill("SIGKILL");
  for (let tries = 0; children.some(isThere) && tries < 60; tries++) await wait(50);
  expect(children.filter(isThere)).toEqual([]);
  const again = start(words);
  await untilLine(again, /step +\d+\/300/);
  again.child.kill("SIGINT");
  expect(await again.ended, again.lines.join("\n")).toBe(130);
});

function childrenOf(pid: number): number[] {
  const list = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  return list.trim().split(" ").map(Number);
}

function isThere(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

it("saved with 4 ranks, resumed with 1 and 2", LONG, async () => {
  const folder = join(parent, "four");
  const first = start(settings(folder, "trainer.n_gpus_per_node=4"));
  expect(await first.ended, first.lines.join("\n")).toBe(0);
  const ends: number[][] = [];
  for (const ranks of [1, 2]) {
    const copy = join(parent, `four-${ranks}`);
    cpSync(folder, copy, { recursive: true });
    const more = [`trainer.n_gpus_per_node=${ranks}`, "trainer.total_epochs=4"];
    const run = start(settings(copy, ...more));
    expect(await run.ended, run.lines.join("\n")).toBe(0);
    expect(run.lines.join("\n")).toMatch(/going on after iteration 2/);
    const model = loadModel(join(copy, "checkpoints", "step-000004", "actor"));
    ends.push(weightsOf(model));
    model.dispose();
  }
  expect(largestDifference(ends[0]!, ends[1]!)).toBeLessThan(1e-5);
});

it("ranks that do not see rank 0's folder get what they need from it", LONG, async () => {
  // Both write the same name, each below a root of its own.
  const folder = "runs/apart";
  const words = settings(folder, "trainer.total_epochs=2");
  const roots = ["machine-a", "machine-b"].map((name) => join(parent, name));
  for (const root of roots) mkdirSync(root);
  const apart = async (own: readonly string[]) => {
    const port = await freePort();
    return roots.map((cwd, rank) => {
      const child = spawn(process.execPath, [BIN, ...words, ...own], {
        cwd,
        env: {
          ...process.env,
          ...{ RANK: `${rank}`, WORLD_SIZE: "2", MASTER_ADDR: "127.0.0.1", MASTER_PORT: `${port}` },
        },
      });
      const lines: string[] = [];
      for (const stream of [child.stdout, child.stderr])
        createInterface({ input: stream }).on("line", (line) => lines.push(line));
      return { child, lines, ended: new Promise((resolve) => child.on("close", resolve)) };
    });
  };
  for (const own of [[], ["trainer.total_epochs=3"]]) {
    const ranks = await apart(own);
    for (const { ended, lines } of ranks) expect(await ended, lines.join("\n")).toBe(0);
    expect(ranks[0]!.lines.join("\n")).toMatch(/runs\/apart is not shared with rank 1/);
  }
  const logged = readMetrics(join(roots[0]!, folder, "metrics.jsonl"));
  expect(logged.map(({ step }) => step)).toEqual([1, 2, 3]);
});

it("sft, eval and rollout give with ranks what they give without", LONG, async () => {
  const form = tinySettings(warm, "unused").filter((word) => !/^(trainer\.d|actor)/.test(word));
  const learned: number[][] = [];
  const tables: string[] = [];
  const rollouts: string[] = [];
  for (const ranks of [1, 3]) {
    const out = join(parent, `sft-${ranks}`);
    const many = `trainer.n_gpus_per_node=${ranks}`;
    const sft = start([
      ...["sft", "--model", warm, "--out", out, "--episodes", "12", "--epochs", "2", ...form, many],
    ]);
    expect(await sft.ended, sft.lines.join("\n")).toBe(0);
    const model = loadModel(out);
    learned.push(weightsOf(model));
    model.dispose();
    const evaluated = start(["eval", warm, "--json", "--tasks", "7", ...form, many]);
    expect(await evaluated.ended, evaluated.lines.join("\n")).toBe(0);
    // Behind the progress.
    const text = evaluated.lines.join("\n");
    tables.push(text.slice(text.indexOf("\n{")));
    const rolled = join(parent, `rollout-${ranks}`);
    const words = [
      ...["rollout", LIGHTS, "--model", warm, "--tasks", "6", "--episodes", "2", "--out", rolled],
    ];
    const all = ranks === 1 ? [start(words)] : await byHand(Array(ranks).fill(words));
    for (const { ended, lines } of all) expect(await ended, lines.join("\n")).toBe(0);
    const facts = JSON.parse(readFileSync(join(rolled, "rollout.json"), "utf8"));
    rollouts.push(JSON.stringify({ ...facts.table, ...facts.account, seconds: 0 }));
  }
  expect(largestDifference(learned[0]!, learned[1]!)).toBeLessThan(1e-5);
  expect(tables[1]).toBe(tables[0]);
  expect(rollouts[1]).toBe(rollouts[0]);
});
