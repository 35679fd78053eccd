/**
 * @file Files of runs: episodes, metrics, tokens, checkpoints, and a whole folder that the dashboard and `diagnose` look at.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { OptionError } from "../../../src/assembly/index.ts";
import { diagnose, diagnosisText } from "../../../src/dashboard/index.ts";
import { followRun } from "../../../src/dashboard/run/run.ts";
import {
  decodeTokens,
  encodeTokens,
  readMetrics,
  readRunLog,
  readWholeMetrics,
  TokenFileError,
} from "../../../src/monitoring/index.ts";
import { MetricsFileError } from "../../../src/monitoring/json-lines.ts";
import {
  BatchError,
  isTrainable,
  packTrajectories,
  readEpisodeIndex,
  readTrajectories,
  toChats,
  TrajectoryLineError,
} from "../../../src/rollout/index.ts";
import { AHEAD_FILE, readAhead } from "../../../src/training/checkpoint/ahead-file.ts";
import { openCheckpointState } from "../../../src/training/checkpoint/checkpoint.ts";
import { CheckpointError, writeWhole } from "../../../src/training/checkpoint/files.ts";
import { bytes, type Target, texts, values } from "../target.ts";

const REPLY = {
  ...{ ids: [3, 4], logprobs: [-0.1, null], sampledLogprobs: [-0.1, -0.2], text: "go" },
  ...{ finish: "stop", source: "policy" },
};
const TURN = {
  promptIds: [1, 2],
  messages: [{ role: "user", content: "It is red." }],
  reply: REPLY,
  ...{ action: "go", reward: 1, problems: [{ kind: "missing", message: "no action" }] },
};
const EPISODE = {
  ...{ id: "a", group: "g", format: "action", context: "steps", status: "won", seed: "12" },
  ...{ won: true, reward: 1, score: 1, step: 1, lastObservation: "Yes.", environmentSteps: 1 },
  task: { id: "train/1", environment: "lights", split: "train", type: "red" },
  turns: [TURN, { ...TURN, promptIds: [1, 2, 3, 4, 5] }],
};
const lines = (rows: unknown) =>
  `${(Array.isArray(rows) ? rows : [rows]).map((row) => JSON.stringify(row)).join("\n")}\n`;
const WORDS = [
  "turns",
  "reply",
  "ids",
  "logprobs",
  "promptIds",
  "status",
  "won",
  "seed",
  "task",
  "allowed",
  "problems",
  "rewards",
];

const episodes: Target = {
  name: "episodes",
  words: WORDS,
  errors: [TrajectoryLineError, BatchError],
  forms: () => [
    values([[EPISODE, { ...EPISODE, context: "conversation" }]], lines),
    texts(lines([EPISODE])),
    bytes([gzipSync(lines([EPISODE]))]),
  ],
  open: (folder) => ({
    run(given) {
      const isGzip = given[0] === 0x1f;
      const file = join(folder, isGzip ? "000001.jsonl.gz" : "000001.jsonl");
      writeFileSync(file, given);
      readEpisodeIndex(file);
      const all = [...readTrajectories(file)];
      for (const one of all) toChats(one);
      packTrajectories(all.filter(isTrainable));
    },
  }),
};

const METRICS = [
  { step: 1, "actor/loss": 0.5, "episode/success_rate": 0.25, "episode/count": 8 },
  { step: 2, "actor/loss": null, "episode/success_rate": 0.5, "actor/entropy": 1 },
];

const metrics: Target = {
  name: "metrics",
  words: ["step", "actor/loss", "null", "episode/success_rate"],
  errors: [MetricsFileError],
  forms: () => [values([METRICS], lines), texts(lines(METRICS))],
  open: (folder) => ({
    run(given) {
      const file = join(folder, "metrics.jsonl");
      writeFileSync(file, given);
      readWholeMetrics(file);
      readRunLog(file);
      readMetrics(file);
    },
  }),
};

const TABLE = {
  step: 3,
  about: { model: "m" },
  episodes: [{ id: "a", turns: [{ tokens: 2, return: 1 }] }],
};

function tokenFile(header: unknown, columns: number): Buffer {
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  return gzipSync(
    Buffer.concat([Buffer.from("omrltok1"), length, text, Buffer.alloc(columns, 63)]),
  );
}

const tokens: Target = {
  name: "tokens",
  words: ["episodes", "columns", "constants", "turns", "ids", "advantage", "logprob"],
  errors: [TokenFileError],
  forms: () => [
    values(
      [
        { ...TABLE, columns: [], constants: { advantage: 1 } },
        { ...TABLE, columns: ["advantage"], constants: {} },
      ],
      (header) => tokenFile(header, 8),
    ),
    bytes([tokenFile({ ...TABLE, columns: [], constants: {} }, 0)]),
  ],
  open: () => ({
    run(given) {
      const table = decodeTokens(given, "tokens");
      decodeTokens(encodeTokens(table), "again");
    },
  }),
};

const STATE = {
  ...{ version: 1, step: 3, drawnTasks: 9, episodes: 9, tokens: 100, minutes: 1, best: null },
  klController: { coefficient: 0.1 },
  badUpdates: { row: 0, all: 0 },
  optimizers: { actor: { step: 3, lossScale: { value: 1, since: 0 } }, critic: null },
};
const AHEAD = {
  ...{ iteration: 4, places: [["g", 0]], account: {}, metrics: {}, generation: {} },
  trained: [{ id: "a", reward: { total: 1, breakdown: { world: 1 }, turns: [0, 1] } }],
};

const checkpoint: Target = {
  name: "checkpoint",
  words: ["version", "step", "optimizers", "trained", "reward", "files", "bytes", "sha256", "../x"],
  errors: [CheckpointError],
  forms: () => [
    values([{ state: STATE, ahead: [AHEAD, EPISODE] }]),
    values([{ manifest: { files: { "state.json": { bytes: 5, sha256: "x" } } } }]),
  ],
  open: (folder) => ({
    run(given) {
      const read = Object(JSON.parse(given.toString())) as Readonly<Record<string, unknown>>;
      const target = join(folder, "checkpoint");
      writeWhole(target, (inside) => {
        writeFileSync(join(inside, "state.json"), JSON.stringify(read.state ?? null));
        writeFileSync(join(inside, AHEAD_FILE), lines(read.ahead ?? []));
      });
      if (read.manifest !== undefined)
        writeFileSync(join(target, "manifest.json"), JSON.stringify(read.manifest));
      openCheckpointState(target);
      readAhead(target);
    },
  }),
};

const LOG = [
  { at: "2026-11-18T00:00:00Z", kind: "begun", iterations: 5, from: 0 },
  { at: "2026-11-18T00:00:01Z", kind: "said", text: "hello" },
  {
    at: "2026-11-18T00:00:02Z",
    kind: "alarm",
    name: "no_spread",
    event: "begins",
    iteration: 2,
    text: "x",
  },
  { at: "2026-11-18T00:00:03Z", kind: "ended", end: "finished" },
];

const run: Target = {
  name: "run",
  words: [...WORDS, "kind", "begun", "ended", "alarm", "episode/count", "step"],
  errors: [OptionError],
  forms: () => [
    values([
      {
        ...{ metrics: METRICS, log: LOG, episodes: [EPISODE] },
        config: "trainer:\n  total_epochs: 5\n",
      },
    ]),
  ],
  open(folder) {
    mkdirSync(join(folder, "trajectories"));
    return {
      run(given) {
        const read = Object(JSON.parse(given.toString())) as Readonly<Record<string, unknown>>;
        const files = {
          "metrics.jsonl": lines(read.metrics ?? []),
          "log.jsonl": lines(read.log ?? []),
          "trajectories/000001.jsonl": lines(read.episodes ?? []),
          "config.yaml": typeof read.config === "string" ? read.config : "",
        };
        for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
        diagnosisText(diagnose(folder));
        const followed = followRun("a", folder);
        followed.update();
        JSON.stringify([followed.row(), followed.page(), followed.columns(0)]);
      },
    };
  },
};

export const targets: readonly Target[] = [episodes, metrics, tokens, checkpoint, run];
