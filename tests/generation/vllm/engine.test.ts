/**
 * @file vLLM's servers as an engine, with the stand-in: they get weights and are asked for proof, they are started again
 * when they die, conversations stay where they are, and nothing outlives us.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { createVllmEngine, type VllmEngine, WeightsError } from "../../../src/generation/index.ts";
import { loadChat, loadModel, type Model } from "../../../src/models/index.ts";
import { noGrad, tidy } from "../../../src/torch/index.ts";
import { probeOf } from "../../../src/training/served/probe.ts";
import { type WeightsPlace, weightsPlace } from "../../../src/training/served/weights.ts";
import { temporaryFolder } from "../../rollout/support.ts";
import { newTinyFolder } from "../../training/support/runs.ts";
import { standIn, vllmOptions } from "./support.ts";

const parent = temporaryFolder();
const TIMEOUT = { timeout: 300_000 };
let folder: string;
let model: Model;
let place: WeightsPlace;

beforeAll(() => {
  folder = newTinyFolder(parent);
  model = loadModel(folder);
  place = weightsPlace(model, {
    ...{ asked: parent, runFolder: parent, dtype: "float32", tokenizerFolder: folder },
  });
});

/** Moves every weight a little, as an update does. */
function change(): void {
  tidy(() =>
    noGrad(() => {
      for (const weight of model.parameters.values()) weight.mul_(1.05);
    }),
  );
}

function weights(version: number) {
  return { folder: place.write(model, version), version, probe: probeOf(model, 1e-3) };
}

let engine: VllmEngine | undefined;
const said: string[] = [];

function open(executable: string, own: Parameters<typeof vllmOptions>[1] = {}): VllmEngine {
  said.length = 0;
  engine = createVllmEngine({
    vllm: vllmOptions(executable, own),
    tokenizer: loadChat(folder).tokenizer,
    vocabularySize: model.config.vocabularySize,
    weightsFolder: place.folder,
    say: (text) => said.push(text),
  });
  return engine;
}

afterEach(async () => {
  await engine?.close();
  engine = undefined;
});

const ask = (prompt: number[], more = {}) => ({
  prompt,
  seed: 5,
  sampling: { maximumTokens: 6 },
  ...more,
});

describe("weights of servers", () => {
  it("are those of the last sync, to rounding", TIMEOUT, async () => {
    const server = standIn(parent, "sync");
    const served = open(server.executable);
    expect(await served.use(weights(0))).toBeLessThan(1e-5);
    const first = await served.generate(ask([5, 6, 7]));
    change();
    expect(await served.use(weights(1))).toBeLessThan(1e-5);
    const second = await served.generate(ask([5, 6, 7]));
    expect([first.weightsVersion, second.weightsVersion]).toEqual([0, 1]);
    expect(second.logprobs).not.toEqual(first.logprobs);
    await served.requireSound();
    const log = server.log().map((line) => line.replace(/^\d+ /, ""));
    expect(log).toEqual([
      `started ${join(place.folder, "version-0")}`,
      `loaded ${join(place.folder, "version-1")}`,
    ]);
  });

  it.each(["skip-reload", "keep-output"])("stop everything with %s", TIMEOUT, async (fault) => {
    const server = standIn(parent, fault);
    const served = open(server.executable);
    await served.use(weights(0));
    server.fault(fault);
    change();
    const failed = await served.use(weights(1)).catch((error: Error) => error);
    expect(failed).toBeInstanceOf(WeightsError);
    expect((failed as Error).message).toMatch(/weights of iteration 1: .* differ from ours by/);
  });
});

describe("a server that dies", () => {
  it("is started again with the same weights, and asked again", TIMEOUT, async () => {
    const server = standIn(parent, "dies");
    const served = open(server.executable);
    await served.use(weights(0));
    change();
    await served.use(weights(1));
    const expected = await served.generate(ask([9, 8, 7]));
    server.fault("die-in-answer");
    const found = await Promise.all([
      served.generate(ask([9, 8, 7])),
      served.generate(ask([9, 8, 7, 6])),
    ]);
    expect(found[0]).toEqual({ ...expected, cachedTokens: found[0]!.cachedTokens });
    expect(served.statistics.restarts).toBe(1);
    expect(said.join()).toMatch(/server 1 is gone .*; starting it again with the same weights/);
    expect(
      server
        .log()
        .filter((line) => line.includes("started"))
        .at(-1),
    ).toMatch(/version-1$/);
    await served.requireSound();
  });

  it("is given up when it cannot be started", TIMEOUT, async () => {
    const failed = await open("/bin/false")
      .use(weights(0))
      .catch((error: Error) => error);
    expect((failed as Error).message).toMatch(
      /vLLM server 1 could not be started: it ended with 1/,
    );
  });
});

describe("several servers", () => {
  it("share new conversations, and keep those that they have", TIMEOUT, async () => {
    const server = standIn(parent, "several");
    const served = open(server.executable, { replicas: 2 });
    await served.use(weights(0));
    const play = (conversation: string, prompt: number[]) =>
      served.generate(ask(prompt, { conversation }));
    const long = Array.from({ length: 64 }, (_, i) => 5 + i);
    await Promise.all([play("a", long), play("b", long)]);
    // Whoever had it finds its beginning.
    const again = await Promise.all([play("a", [...long, 3]), play("b", [...long, 3])]);
    for (const { cachedTokens } of again) expect(cachedTokens).toBeGreaterThan(0);
    expect(new Set(server.log().map((line) => line.split(" ")[0])).size).toBe(2);
    served.release("a");
    served.release("b");
  });
});

describe("what is not wanted any more", () => {
  it("is aborted at the server", TIMEOUT, async () => {
    const server = standIn(parent, "abort");
    const served = open(server.executable);
    await served.use(weights(0));
    server.fault("slow");
    const stop = new AbortController();
    const running = served.generate(ask([5, 6], { signal: stop.signal }));
    setTimeout(() => stop.abort(), 500);
    expect((await running).finish).toBe("abort");
    await expect
      .poll(() => server.log().some((line) => line.endsWith("aborted")), {
        timeout: 60_000,
      })
      .toBe(true);
  });

  it("is a server whose trainer was killed, with its weights", TIMEOUT, async () => {
    const server = standIn(parent, "orphan");
    const script = fileURLToPath(new URL("./killed.ts", import.meta.url));
    const words = [script, server.executable, folder, join(parent, "killed-weights")];
    const child = spawn(process.execPath, ["--import", "tsx", ...words], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const line = await new Promise<string>((resolve) =>
      child.stdout.once("data", (piece: Buffer) => resolve(piece.toString())),
    );
    const { pids, weights: left } = JSON.parse(line) as { pids: number[]; weights: string };
    expect(pids.length).toBe(1);
    child.kill("SIGKILL");
    await expect.poll(() => pids.filter(isAlive), { timeout: 60_000 }).toEqual([]);
    await expect.poll(() => readable(left), { timeout: 60_000 }).toBe(false);
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // One that nobody has waited for yet is dead, too.
    return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

function readable(path: string): boolean {
  try {
    return readFileSync(path).length > 0;
  } catch {
    return false;
  }
}
