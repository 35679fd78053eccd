/**
 * @file The gateway: exactness of a thousand sessions, throughput beside the engine's own, and ten thousand requests
 * of which many are malformed or abandoned.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Gateway, serveGateway } from "../../src/gateway/index.ts";
import { createEngine } from "../../src/generation/index.ts";
import {
  initModelFolder,
  loadChat,
  loadModel,
  type Model,
  presetConfig,
} from "../../src/models/index.ts";
import { noGrad, threads, tidy } from "../../src/torch/index.ts";
import { ArgumentError } from "../arguments.ts";
import type { Benchmark } from "../main.ts";
import { table } from "../measure.ts";
import { type Held, type Rough, roughRequests } from "./rough.ts";
import { checkSessions, type Exactness, listening, playSessions } from "./sessions.ts";
import { measureThroughput, type Throughput } from "./throughput.ts";

interface Figures {
  readonly threads: number;
  readonly sessions?: Exactness & {
    readonly forks: Readonly<Record<string, number>>;
    readonly seconds: number;
  };
  readonly throughput?: Throughput;
  readonly rough?: Rough & { readonly seconds: number };
}

const PARTS = ["sessions", "throughput", "rough"];
const TEXT = [
  "You are agent 1. go to desk 1 and take the lamp 1 go on, turn 2 and then In short: turns are over.",
  '<tool_call>{"name": "look_up", "arguments": {"word": "x"}}</tool_call> result 12 open fridge 1',
];

export const gateway: Benchmark = {
  usage: [
    `  --only PART    one of ${PARTS.join(", ")} (all)`,
    "  --model FOLDER answers sessions and rough requests (a random one)",
    "  --sessions N   recorded sessions (1000)",
    "  --requests N   rough requests (10000)",
    "  --clients N    at once (32)",
    "  --rounds N     of the throughput (5)",
  ].join("\n"),
  async run(words) {
    const values = valuesOf(words);
    const wants = (part: string) => values.only === undefined || values.only === part;
    const figures: { -readonly [Key in keyof Figures]: Figures[Key] } = { threads: threads() };
    if (wants("throughput")) {
      console.error("throughput …");
      figures.throughput = await measureThroughput(values.clients, values.rounds);
    }
    const folder = mkdtempSync(join(tmpdir(), "openmanus-gateway-"));
    if (values.model === undefined) newModelIn(folder);
    const model = loadModel(values.model ?? folder);
    const chat = loadChat(values.model ?? folder);
    if (values.model === undefined) sharpen(model);
    const cacheBytes = values.model === undefined ? 2 ** 26 : 2 ** 30;
    try {
      if (wants("sessions")) {
        console.error(`${values.sessions} sessions …`);
        const begun = performance.now();
        const engine = createEngine(model, { cacheBytes, tokenizer: chat.tokenizer });
        const { generator, answers } = listening(engine);
        const recording = new Gateway({
          ...{ generator, chat, contextLength: 2048, model: "m", seed: 1, maximumSessions: 1e6 },
        });
        const server = await serveGateway(recording);
        const sessions = await playSessions(recording, server.url, values.sessions);
        await server.close();
        figures.sessions = {
          ...checkSessions(
            sessions,
            answers,
            chat,
            model,
            values.model === undefined ? 1e-5 : 1e-4,
          ),
          forks: recording.metrics.forks,
          seconds: (performance.now() - begun) / 1000,
        };
        recording.close();
        await engine.close();
      }
      if (wants("rough")) {
        console.error(`${values.requests} rough requests …`);
        const begun = performance.now();
        const found = await roughRequests(model, chat, values.requests);
        figures.rough = { ...found, seconds: (performance.now() - begun) / 1000 };
      }
    } finally {
      model.dispose();
      rmSync(folder, { recursive: true });
    }
    return figures;
  },
  report(given) {
    const { sessions, throughput, rough, threads: count } = given as Figures;
    const lines = [`${count} threads`];
    if (throughput)
      lines.push(
        `${throughput.clients} clients: the engine itself ${throughput.engine.toFixed(0)} tokens/s, over HTTP ` +
          `${throughput.gateway.toFixed(0)} (${(throughput.ratio * 100).toFixed(1)} %); first token after ` +
          `${throughput.firstToken.median.toFixed(0)} ms (95 of 100 within ${throughput.firstToken.p95.toFixed(0)} ms)`,
      );
    if (sessions)
      lines.push(
        `${sessions.sessions} sessions: ${sessions.replies} replies in ${sessions.branches} branches, ` +
          `${sessions.trainedIds} trained ids, all drawn or given; log-probabilities within ` +
          `${sessions.largestDifference.toExponential(1)} of the training path (${sessions.seconds.toFixed(0)} s)`,
        `text-only recording: ${sessions.drifted.replies} of ${sessions.replies} replies and ` +
          `${sessions.drifted.ids} of ${sessions.trainedIds} ids would be others`,
        `branches: ${Object.entries(sessions.forks)
          .map(([reason, times]) => `${reason} ${times}`)
          .join(", ")}`,
      );
    if (rough)
      lines.push(
        `${rough.requests} rough requests: ${rough.answered} answered, ${rough.refused} refused, ${rough.left} left; ` +
          `afterwards ${rough.running} replies are drawn (${rough.seconds.toFixed(0)} s)`,
        table([
          ["", "tensors", "pages", "sockets", "MB", "used", "JavaScript's"],
          ...rough.held.map((held, i) => heldRow(`after ${i + 1} tenths`, held)),
          heldRow("closed", rough.closed),
        ]),
      );
    return lines.join("\n");
  },
};

function newModelIn(folder: string): void {
  const config = {
    ...presetConfig("tiny", { family: "qwen3" }),
    maximumPositions: 4096,
    initializerRange: 0.02,
  };
  initModelFolder(folder, { config, texts: TEXT, vocabularySize: 400, seed: 1 });
}

/** A random model's logits are nearly equal; sharpened, some tokens are much likelier than others. */
function sharpen(model: Model): void {
  noGrad(() => {
    for (const parameter of model.parameters.values())
      if (parameter.ndim > 1) tidy(() => parameter.mul_(4));
  });
}

function heldRow(when: string, { tensors, pages, sockets, ...bytes }: Held): string[] {
  const counts = [tensors, pages, sockets].map(String);
  const { megabytes, used, heap } = bytes;
  return [when, ...counts, ...[megabytes, used, heap].map((value) => value.toFixed(0))];
}

function valuesOf(words: readonly string[]) {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    args: [...words],
    options: {
      only: text,
      model: text,
      sessions: text,
      requests: text,
      clients: text,
      rounds: text,
    },
  });
  const number = (name: "sessions" | "requests" | "clients" | "rounds", otherwise: number) => {
    const given = values[name];
    const value = given === undefined ? otherwise : Number(given);
    if (!(Number.isInteger(value) && value >= 1))
      throw new ArgumentError(`--${name} must be a whole number, 1 or more, not "${given}"`);
    return value;
  };
  if (values.only !== undefined && !PARTS.includes(values.only))
    throw new ArgumentError(`--only takes one of ${PARTS.join(", ")}`);
  return {
    ...{ only: values.only, model: values.model },
    sessions: number("sessions", 1000),
    requests: number("requests", 10_000),
    clients: number("clients", 32),
    rounds: number("rounds", 5),
  };
}
