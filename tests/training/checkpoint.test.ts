/**
 * @file Checkpoints: everything comes back; what was damaged is refused by name and the one before is
 * used on request; half-written folders, full disks, unwritable folders and second processes.
 */
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { MARKER_FILE, takeLock } from "../../src/folders/index.ts";
import { readMetrics } from "../../src/monitoring/index.ts";
import { saveCheckpoint } from "../../src/training/checkpoint/checkpoint.ts";
import { CheckpointError, checkpointSteps } from "../../src/training/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { resultsOf, startScript } from "./support/processes.ts";
import {
  optionsOf,
  tinyConfig,
  tinySettings,
  trainConfig,
  warmTinyFolder,
} from "./support/runs.ts";

const parent = temporaryFolder();
let warm: string;
/** A run of four iterations, all saved. Never changed: tests take copies. */
let original: string;

const OWN = ["algorithm.adv_estimator=gae", "env.rollout.n=2", "trainer.save_freq=1"];
const run = (folder: string, ...own: string[]) =>
  trainConfig({
    config: tinyConfig(warm, folder, [
      ...OWN,
      "trainer.total_epochs=4",
      "trainer.max_actor_ckpt_to_keep=null",
      ...own,
    ]),
  });

beforeAll(async () => {
  warm = await warmTinyFolder(parent);
  original = join(parent, "original");
  await run(original);
});

let copies = 0;
function copy(): string {
  const folder = join(parent, `copy-${copies++}`);
  cpSync(original, folder, { recursive: true });
  return folder;
}
const checkpoint = (folder: string, step: number) =>
  join(folder, "checkpoints", `step-${String(step).padStart(6, "0")}`);

describe("what is saved", () => {
  it("comes back bitwise: saved again it is the same", async () => {
    const folder = copy();
    const again = join(parent, "again");
    // A run that only validates loads everything and changes nothing.
    const { createWorkers } = await import("../../src/training/workers/workers.ts");
    const { loadOptimizers, openCheckpointState, resumeFolders } = await import(
      "../../src/training/checkpoint/checkpoint.ts"
    );
    const { joinRanks } = await import("../../src/training/index.ts");
    const source = checkpoint(folder, 4);
    const workers = createWorkers(
      await optionsOf(tinyConfig(warm, folder, OWN)),
      joinRanks(),
      resumeFolders(source),
    );
    loadOptimizers(source, workers);
    saveCheckpoint(again, workers, openCheckpointState(source));
    await workers.dispose();
    const files = (of: string) =>
      readdirSync(of, { recursive: true, encoding: "utf8" }).filter(
        (name) => name.endsWith(".safetensors") || name === "state.json",
      );
    expect(files(source).length).toBe(5);
    for (const name of files(source))
      expect(
        readFileSync(join(source, name)).equals(readFileSync(join(checkpoint(again, 4), name))),
        name,
      ).toBe(true);
  });

  it("a run that is finished does nothing when it is started again", async () => {
    const folder = copy();
    const before = resultsOf(folder, 4);
    const result = await run(folder);
    expect(result).toMatchObject({ resumedFrom: 4, interrupted: false, stopped: undefined });
    expect(resultsOf(folder, 4)).toEqual(before);
  });

  it("goes on when more iterations are asked for", async () => {
    const folder = copy();
    const { state } = await run(folder, "trainer.total_epochs=5");
    expect(state.step).toBe(5);
    expect(readMetrics(join(folder, "metrics.jsonl")).map(({ step }) => step)).toEqual([
      ...[1, 2, 3, 4, 5],
    ]);
  });
});

describe("what was damaged", () => {
  const damages: [name: string, file: string, damage: (file: string) => void][] = [
    ["truncated", "actor/model.safetensors", (file) => truncateSync(file, 1000)],
    ["truncated", "critic-optimizer.safetensors", (file) => truncateSync(file, 0)],
    ["longer", "state.json", (file) => appendFileSync(file, " ")],
    [
      "altered",
      "actor-optimizer.safetensors",
      (file) => {
        const bytes = readFileSync(file);
        bytes[bytes.length - 5]! ^= 1;
        writeFileSync(file, bytes);
      },
    ],
    ["missing", "critic/config.json", (file) => rmSync(file)],
    ["missing", "manifest.json", (file) => rmSync(file)],
    ["no JSON", "manifest.json", (file) => writeFileSync(file, "{")],
  ];
  it.each(damages)("%s %s is refused by its name", async (_, name, damage) => {
    const folder = copy();
    damage(join(checkpoint(folder, 4), name));
    const error = await run(folder, "trainer.total_epochs=5").catch((one: unknown) => one);
    expect(error).toBeInstanceOf(CheckpointError);
    const { message } = error as Error;
    expect(message).toContain(join(checkpoint(folder, 4), name));
    expect(message).toContain(`trainer.resume_from_path=${checkpoint(folder, 3)}`);
  });

  it("the one before is used as the message says, and gives the same run", async () => {
    const folder = copy();
    const expected = resultsOf(folder, 4);
    truncateSync(join(checkpoint(folder, 4), "actor/model.safetensors"), 1000);
    const { message } = (await run(folder).catch((one: unknown) => one)) as Error;
    const words = message.split(/\s/).filter((word) => word.startsWith("trainer."));
    expect(words).toHaveLength(2);
    const { resumedFrom } = await run(folder, ...words);
    expect(resumedFrom).toBe(3);
    expect(resultsOf(folder, 4)).toEqual(expected);
    // And the plain command is right again.
    expect((await run(folder)).resumedFrom).toBe(4);
  });

  it("there is none before: the message says how to begin anew, and that works", async () => {
    const folder = copy();
    for (const step of [1, 2, 3]) rmSync(checkpoint(folder, step), { recursive: true });
    rmSync(join(checkpoint(folder, 4), "state.json"));
    await expect(run(folder)).rejects.toThrow(/begin anew with trainer.resume_mode=disable/);
    const { state, resumedFrom } = await run(folder, "trainer.resume_mode=disable");
    expect([state.step, resumedFrom]).toEqual([4, 0]);
    expect(resultsOf(folder, 4)).toEqual(resultsOf(original, 4));
  });

  it("a folder that is no checkpoint is refused", async () => {
    const words = ["trainer.resume_mode=resume_path", `trainer.resume_from_path=${parent}`];
    await expect(run(copy(), ...words)).rejects.toThrow(/there is no checkpoint/);
  });
});

describe("what is kept", () => {
  it("half-written folders are cleared away", async () => {
    const folder = copy();
    const half = join(folder, "checkpoints", ".new-123-step-000005");
    mkdirSync(half);
    writeFileSync(join(half, "state.json"), "{}");
    // Whoever only looks leaves it: it may be under way. Whoever goes on with the run clears it away.
    expect(checkpointSteps(folder)).toEqual([1, 2, 3, 4]);
    expect(existsSync(half)).toBe(true);
    await run(folder);
    expect(existsSync(half)).toBe(false);
  });

  it("the last and the best", async () => {
    const folder = join(parent, "pruned");
    const { state } = await run(
      folder,
      "trainer.total_epochs=6",
      "trainer.test_freq=1",
      "trainer.max_actor_ckpt_to_keep=2",
    );
    const { best } = state;
    const rates = readMetrics(join(folder, "metrics.jsonl")).map(
      ({ metrics }) => metrics["val/success_rate"]!,
    );
    expect(best!.successRate).toBe(Math.max(...rates));
    expect(best!.step).toBe(rates.indexOf(best!.successRate) + 1);
    expect(checkpointSteps(folder)).toEqual([...new Set([best!.step, 5, 6])].sort());
  });
});

describe("where it cannot be written", () => {
  const RUN = new URL("./support/run.ts", import.meta.url).pathname;
  const words = (folder: string, ...own: string[]) => [
    ...tinySettings(warm, folder),
    ...OWN,
    "trainer.total_epochs=4",
    "trainer.max_actor_ckpt_to_keep=null",
    ...own,
  ];

  it("a full disk ends the run; nothing is broken, and it goes on when there is room", {
    timeout: 300_000,
  }, async () => {
    const folder = join(parent, "full");
    // Files of at most 100 KiB: the metrics fit, the checkpoint's weights do not.
    const limited = ["bash", "-c", 'trap "" XFSZ; ulimit -f 100; exec "$@"', "bash"];
    const { ended, lines } = startScript(RUN, words(folder), undefined, limited);
    expect(await ended).toBe(1);
    expect(lines.join("\n")).toMatch(
      /step-000001: cannot be written \(.*(EFBIG|ENOSPC|File too large|No space left)/,
    );
    const left = join(folder, "checkpoints");
    expect(existsSync(left) ? readdirSync(left) : []).toEqual([]);
    expect(existsSync(join(folder, "run.lock"))).toBe(false);
    await run(folder);
    expect(resultsOf(folder, 4)).toEqual(resultsOf(original, 4));
  });

  it("a folder that cannot be made is an error that says so", async () => {
    const file = join(parent, "a-file");
    writeFileSync(file, "");
    await expect(run(join(file, "run"))).rejects.toThrow(
      /the run's folder cannot be written to.*trainer.default_local_dir/,
    );
  });

  it.skipIf(process.getuid?.() === 0)("nor one without permission", async () => {
    const folder = join(parent, "closed");
    mkdirSync(folder);
    chmodSync(folder, 0o500);
    await expect(run(folder)).rejects.toThrow(/cannot be written to/);
  });

  it("a run that cannot begin leaves nothing behind", async () => {
    const folder = join(parent, "wrong-model");
    await expect(run(folder, "actor_rollout_ref.model.path=nowhere")).rejects.toThrow(
      /there is no model in "nowhere"/,
    );
    expect(existsSync(folder)).toBe(false);
    await expect(run(folder, "env.env_name=nowhere")).rejects.toThrow(/no world of this name/);
    expect(existsSync(folder)).toBe(false);
  });

  it("nor does it take anything away", async () => {
    const folder = copy();
    const anew = "trainer.resume_mode=disable";
    await expect(run(folder, anew, "actor_rollout_ref.model.path=nowhere")).rejects.toThrow();
    expect(resultsOf(folder, 4)).toEqual(resultsOf(original, 4));
  });

  it("a run of another configuration is refused, with the difference", async () => {
    await expect(run(copy(), "data.max_response_length=7")).rejects.toThrow(
      /data.max_response_length: 6 there, 7 now \(other tasks or other limits/,
    );
  });
});

describe("a description that was torn", () => {
  it("comes from the checkpoint; config.yaml is written anew", async () => {
    const folder = copy();
    await run(folder);
    const config = readFileSync(join(folder, "config.yaml"), "utf8");
    writeFileSync(join(folder, "run.json"), "{");
    truncateSync(join(folder, "config.yaml"), 100);
    expect((await run(folder)).resumedFrom).toBe(4);
    expect(readFileSync(join(folder, "config.yaml"), "utf8")).toBe(config);
    expect(JSON.parse(readFileSync(join(folder, "run.json"), "utf8"))).toHaveProperty("identity");
    const hidden = readdirSync(folder).filter((name) => name.startsWith("."));
    expect(hidden).toEqual([MARKER_FILE]);
  });

  it("still tells a run of another configuration", async () => {
    const folder = copy();
    writeFileSync(join(folder, "run.json"), "{");
    await expect(run(folder, "data.max_response_length=7")).rejects.toThrow(
      /max_response_length: 6 there, 7 now/,
    );
  });

  it("where no checkpoint has it: a sentence, and without it the run goes on", async () => {
    const folder = copy();
    writeFileSync(join(folder, "run.json"), "{");
    for (const step of checkpointSteps(folder))
      rmSync(join(folder, "checkpoints", `step-00000${step}`, "run.json"));
    await expect(run(folder)).rejects.toThrow(/run.json: cannot be read. Remove it to go on/);
  });
});

describe("two processes in one folder", () => {
  it("the second is refused; a lock whose process is gone is taken over", async () => {
    const folder = copy();
    const lock = takeLock(folder);
    await expect(run(folder)).rejects.toThrow(
      new RegExp(`process ${process.pid} is at work in this folder`),
    );
    lock.release();
    const gone = spawnSync(process.execPath, ["-e", ""]);
    const file = join(folder, "run.lock");
    writeFileSync(file, JSON.stringify({ pid: gone.pid, started: "1" }));
    expect((await run(folder)).resumedFrom).toBe(4);
    // This very number, given to another process since.
    writeFileSync(file, JSON.stringify({ pid: process.pid, started: "1" }));
    expect((await run(folder)).resumedFrom).toBe(4);
    writeFileSync(file, "");
    expect((await run(folder)).resumedFrom).toBe(4);
    expect(existsSync(file)).toBe(false);
  });
});
