/**
 * @file A disk that is full while several ranks write their shards of a checkpoint: all of them end, with a sentence that names
 * the file and whose it is. Half a checkpoint is never taken for a whole one, and with room again the same ranks go on to what
 * they would have been.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { launch, type OutputLine } from "../../src/torch/index.ts";
import { checkpointSteps } from "../../src/training/checkpoint/checkpoint.ts";
import { verifyWhole } from "../../src/training/checkpoint/files.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { areDisksMissing, smallDisk } from "../support/disk.ts";
import { resultsOf } from "./support/processes.ts";
import { tinySettings, warmTinyFolder } from "./support/runs.ts";
import { checkpointOf } from "./support/sharded.ts";

const SCRIPT = new URL("./support/full-disk-rank.ts", import.meta.url);
const isMissing = areDisksMissing();
const parent = temporaryFolder();
const ITERATIONS = 3;
let model: string;

beforeAll(async () => {
  if (!isMissing) model = await warmTinyFolder(parent);
}, 240_000);

interface Attempt {
  readonly lines: readonly OutputLine[];
  readonly error: string | undefined;
}

/** A run of two ranks; the disk is full from a write on. */
async function attempt(
  folder: string,
  full?: { disk: string; rank: number; at: RegExp },
): Promise<Attempt> {
  const lines: OutputLine[] = [];
  const error = await launch(SCRIPT, {
    processes: 2,
    arguments: [
      ...tinySettings(model, folder),
      ...["algorithm.adv_estimator=grpo", "trainer.sharded_checkpoints=True"],
      ...["trainer.save_freq=1", "trainer.max_actor_ckpt_to_keep=20"],
      `trainer.total_epochs=${ITERATIONS}`,
    ],
    environment: {
      DISK: full?.disk,
      FULL_AT: full?.at.source,
      FULL_AT_RANK: full ? String(full.rank) : undefined,
    },
    onLine: (line) => lines.push(line),
  }).then(
    () => undefined,
    (reason: Error) => reason.message,
  );
  return { lines, error };
}

/** In the order in which they come; the last checkpoint is gathered by the first rank. */
const MOMENTS: readonly [what: string, rank: number, at: RegExp, sentence: RegExp][] = [
  ["another's shard", 1, /part-00001-of-00002/, /\(rank [01]: ENOSPC.*part-0000[01]/],
  ["the first's shard", 0, /part-00000-of-00002/, /\(rank [01]: ENOSPC.*part-0000[01]/],
  ["the shards' model", 0, /actor-shards\/.*config\.json/, /\(rank 0: .*config\.json/],
  ["the state", 0, /\.new-.*\/state\.json/, /\(ENOSPC.*state\.json/],
  ["the list of files", 0, /\.new-.*\/manifest\.json/, /\(ENOSPC.*manifest\.json/],
  ["gathered weights", 0, /\.new-.*model\.safetensors/, /\(ENOSPC.*model\.safetensors/],
];

describe.skipIf(isMissing)("a full disk", { timeout: 600_000 }, () => {
  it("under shards of two ranks: all say so, and go on when there is room", async () => {
    const undisturbed = join(parent, "undisturbed");
    expect((await attempt(undisturbed)).error).toBeUndefined();
    expect(shardsIn(undisturbed)).toHaveLength(2 * (ITERATIONS - 1));

    const disk = smallDisk(48);
    const folder = join(disk.folder, "run");
    for (const [what, rank, at, sentence] of MOMENTS) {
      const { error, lines } = await attempt(folder, { disk: disk.folder, rank, at });
      const said = (by: number) =>
        lines.flatMap((line) => (line.rank === by ? line.text : [])).join("\n");
      expect(said(rank), what).toContain("the disk is full");
      expect(error, what).toBeDefined();
      // Of both ranks, whoever's the write was.
      for (const rank of [0, 1]) {
        const told = said(rank);
        expect(told, what).toMatch(/step-\d+: cannot be written .*the same command goes on/);
        expect(told, what).toMatch(sentence);
      }
      for (const step of checkpointSteps(folder)) verifyWhole(checkpointOf(folder, step));
      expect(partsOf(folder), what).toEqual([]);
      disk.free();
    }
    expect((await attempt(folder)).error).toBeUndefined();
    expect(resultsOf(folder, ITERATIONS)).toEqual(resultsOf(undisturbed, ITERATIONS));
  });
});

function names(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" });
}

const shardsIn = (folder: string) => names(folder).filter((name) => /-shards\/part-/.test(name));

/** What was being written. */
const partsOf = (folder: string) => names(folder).filter((name) => /\.new-|\.partial/.test(name));
