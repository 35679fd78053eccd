/**
 * @file A disk that is full at every kind of write of a run, gets room again, or turns read-only while the run writes: it ends
 * with a sentence that names the file and says what to do, or goes on where nothing depends on the file. Nothing half-written
 * is believed, and the same call goes on to what it would have been.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { serve, sft, type TrainOptions, train } from "../../src/library/index.ts";
import { readTrajectories } from "../../src/rollout/index.ts";
import { QUICK, warmModel } from "../library/support.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { areDisksMissing, fragileDisk, type SmallDisk, smallDisk } from "../support/disk.ts";
import { atWrite } from "../support/writes.ts";
import { resultsOf } from "./support/processes.ts";

const isMissing = areDisksMissing();
const parent = temporaryFolder();
const ITERATIONS = 6;
let model: string;

const options = (folder: string): TrainOptions => ({
  ...QUICK,
  ...{ model, folder, iterations: ITERATIONS, warmStart: false, tasks: 2, groupSize: 2 },
  validation: { every: 3, tasks: 2 },
  settings: { trainer: { threads: 1, save_freq: 1, val_before_train: false } },
});

beforeAll(async () => {
  if (!isMissing) model = await warmModel(parent);
}, 120_000);

/** What it says while it runs, and how it ends. */
interface Attempt {
  readonly said: readonly string[];
  readonly error: string | undefined;
}

async function attempt(folder: string): Promise<Attempt> {
  const said: string[] = [];
  const error = await train({ ...options(folder), say: (text) => said.push(text) }).then(
    () => undefined,
    (reason: Error) => reason.message,
  );
  return { said, error };
}

/** Of what a run writes, with the disk full from that moment on: in the order in which it comes. */
const ENDING: readonly [what: string, pattern: RegExp, sentence: RegExp][] = [
  ["the lock", /\.lock-/, /run: cannot be written, because there is no space/],
  ["the marker", /\.openmanus-rl\.json/, /\.openmanus-rl\.json: cannot be written, because/],
  ["config.yaml", /\.config\.yaml/, /config\.yaml: cannot be written, because/],
  ["run.json", /\.run\.json/, /run\.json: cannot be written, because/],
  ["versions.json", /\.versions\.json/, /versions\.json: cannot be written, because/],
  ["an episode", /trajectories\/0+1\.jsonl/, /trajectories\/0+1\.jsonl: cannot be written/],
  ["a token table", /tokens\/\.0+1\.gz/, /tokens\/0+1\.gz: cannot be written, because/],
  ["the metrics", /metrics\.jsonl/, /metrics\.jsonl: cannot be written, because/],
  ["a checkpoint", /checkpoints\/\.new-/, /step-0+1: cannot be written/],
  ["its weights", /\.new-.*model\.safetensors/, /step-0+1: cannot be written .*actor/],
  ["its optimiser", /actor-optimizer/, /step-0+1: cannot be written .*actor-optimizer/],
  ["its state", /\.new-.*\/state\.json/, /step-0+1: cannot be written .*state\.json/],
  ["its list of files", /\/manifest\.json/, /step-0+1: cannot be written .*manifest\.json/],
  ["later metrics", /metrics\.jsonl/, /metrics\.jsonl: cannot be written, because/],
  ["a validation", /validation\/0+3\.jsonl/, /validation\/0+3\.jsonl: cannot be written/],
  ["the report", /\.report\.html/, /report\.html: cannot be written, because/],
];

/** The same, with room again when that write has failed: nothing depends on these. */
const GOING_ON: readonly [what: string, pattern: RegExp, said: RegExp | undefined][] = [
  ["the log", /log\.jsonl/, /what is said is not kept: .*log\.jsonl: cannot be written, because/],
  ["the live file", /live\.jsonl/, /live\.jsonl: cannot be written.*the run goes on/],
  // Files that are compressed later are none the worse.
  ["a compressed file", /\.jsonl\.gz\.new/, undefined],
];

describe.skipIf(isMissing)("a full disk", { timeout: 240_000 }, () => {
  let undisturbed: ReturnType<typeof resultsOf>;
  beforeAll(async () => {
    const folder = join(parent, "undisturbed");
    expect((await attempt(folder)).error).toBeUndefined();
    undisturbed = resultsOf(folder, ITERATIONS);
  }, 120_000);

  it("at every write that a run depends on: it says so, and goes on when there is room", async () => {
    const disk = smallDisk(48);
    const folder = join(disk.folder, "run");
    for (const [what, pattern, sentence] of ENDING) {
      const moment = atWrite(pattern, disk.fill, () => {});
      const { error } = await attempt(folder).finally(moment.end);
      expect(moment.count(), `${what} was written`).toBe(1);
      expect(error, what).toMatch(sentence);
      expect(error, what).toMatch(/same command/);
      expect(unfinished(folder), what).toEqual([]);
      disk.free();
    }
    expect((await attempt(folder)).error).toBeUndefined();
    expect(resultsOf(folder, ITERATIONS)).toEqual(undisturbed);
    expect(existsSync(join(folder, "report.html"))).toBe(true);
  });

  it("at one that nothing depends on: it says so, and goes on at once", async () => {
    const disk = smallDisk(48);
    for (const [i, [what, pattern, expected]] of GOING_ON.entries()) {
      const folder = join(disk.folder, String(i));
      const moment = atWrite(pattern, disk.fill, disk.free);
      const { said, error } = await attempt(folder).finally(moment.end);
      expect(moment.count(), `${what} was written`).toBe(1);
      expect(error, what).toBeUndefined();
      if (expected) expect(said.join("\n"), what).toMatch(expected);
      expect(resultsOf(folder, ITERATIONS), what).toEqual(undisturbed);
    }
  });

  it("while a model is fine-tuned", async () => {
    const disk = smallDisk(48);
    const learn = (out: string) =>
      sft({
        ...{ world: QUICK.world, model, out, episodes: 12, epochs: 1, saveMinutes: 0 },
        ...{ progress: false, say: () => {}, settings: QUICK.settings },
      });
    const expected = (await learn(join(parent, "learned"))).model;
    const out = join(disk.folder, "learned");
    for (const [pattern, sentence] of [
      [/learned\.training\/checkpoints\/\.new-/, /step-\d+: cannot be written .*same command/],
      [/\.new-.*\/state\.json/, /step-\d+: cannot be written .*same command/],
      [/\.learned[^/]*\/[^/]*model\.safetensors/, /learned: cannot be written .*same command/],
    ] as const) {
      const moment = atWrite(pattern, disk.fill, () => {});
      await expect(learn(out).finally(moment.end)).rejects.toThrow(sentence);
      expect(existsSync(out)).toBe(false);
      disk.free();
    }
    const weights = (folder: string) => readFileSync(join(folder, "model.safetensors"));
    expect(weights((await learn(out)).model).equals(weights(expected))).toBe(true);
  });

  it("while a served model's sessions are recorded: who asks is answered", async () => {
    const disk = smallDisk(8);
    const record = join(disk.folder, "sessions");
    const said: string[] = [];
    const play = async (name: string, moment: SmallDisk["fill"]) => {
      const server = await serve({
        model,
        record,
        progress: false,
        say: (text) => said.push(text),
      });
      const answer = await fetch(`${server.url}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-session-id": name },
        body: JSON.stringify({
          messages: [{ role: "user", content: "Hello, you. ".repeat(60) }],
          max_tokens: 4,
        }),
      });
      expect(answer.status).toBe(200);
      await answer.text();
      moment();
      await server.close();
    };
    await play("first", () => {});
    await play("second", disk.fill);
    disk.free();
    await play("third", () => {});
    expect(said.join("\n")).toMatch(/session .* is not recorded: .*jsonl: cannot be written/);
    expect([...readTrajectories(record)]).toHaveLength(2);
  });

  it("is a sentence of the command, without a stack", async () => {
    const { start } = await import("../attack/command.ts");
    const disk = smallDisk(1);
    disk.fill();
    const words = [`trainer.default_local_dir=${join(disk.folder, "run")}`, "env.env_name=maze"];
    const { child, errors } = start(["train", "--model", model, ...words]);
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect(errors()).toMatch(/run.*cannot be written, because there is no space left on the disk/);
    expect(errors()).not.toMatch(/^ {4}at /m);
    expect(code).toBe(1);
  });
});

describe.skipIf(isMissing)("a disk that turns read-only", { timeout: 240_000 }, () => {
  it("ends the run with a sentence; when it can be written to, the run goes on", async () => {
    const undisturbed = join(parent, "writable");
    expect((await attempt(undisturbed)).error).toBeUndefined();
    const disk = fragileDisk(48);
    const folder = join(disk.folder, "run");
    for (const [pattern, sentence] of [
      [/trajectories\/0+1\.jsonl/, /trajectories\/0+1\.jsonl: cannot be written.*only be read/],
      [/\.new-.*\/state\.json/, /step-0+\d: cannot be written .*EROFS/],
      [/metrics\.jsonl/, /metrics\.jsonl: cannot be written, because its disk can only be read/],
      [/\.report\.html/, /report\.html: cannot be written, because its disk can only be read/],
    ] as const) {
      const moment = atWrite(pattern, disk.turnReadOnly, () => {});
      const { error } = await attempt(folder).finally(moment.end);
      expect(error).toMatch(sentence);
      // Still so: whoever starts it again hears the same at once.
      expect((await attempt(folder)).error).toMatch(/cannot be written.*can only be read/);
      await disk.mend();
    }
    expect((await attempt(folder)).error).toBeUndefined();
    expect(resultsOf(folder, ITERATIONS)).toEqual(resultsOf(undisturbed, ITERATIONS));
  });
});

/** What a run was writing and did not finish. */
function unfinished(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    /\.partial|\.new|run\.lock/.test(name),
  );
}
