/**
 * @file How much of the engine's speed is left when clients ask over HTTP: the same requests, so many at once, to the
 * engine itself and to the gateway, by turns.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Gateway, serveGateway } from "../../src/gateway/index.ts";
import { createEngine } from "../../src/generation/index.ts";
import { byteChat, newModel, presetConfig } from "../../src/models/index.ts";
import { Generator } from "../../src/torch/index.ts";
import { median } from "../measure.ts";

export interface Throughput {
  readonly clients: number;
  /** Drawn tokens per second, medians of the rounds. */
  readonly engine: number;
  readonly gateway: number;
  /** The median of the rounds' ratios. */
  readonly ratio: number;
  /** Milliseconds to the first token, under that load: the median, and what 95 of 100 are below. */
  readonly firstToken: { readonly median: number; readonly p95: number };
}

const CLIENTS_FILE = fileURLToPath(new URL("clients.ts", import.meta.url));
const PROMPT = 128;
const TOKENS = 64;

export async function measureThroughput(clients: number, rounds: number): Promise<Throughput> {
  const chat = byteChat();
  const config = { ...presetConfig("small"), vocabularySize: 4096 };
  const model = newModel(config, new Generator(1));
  const prompts = Array.from({ length: clients }, (_, i) =>
    Array.from({ length: PROMPT }, (_, k) => (i * 37 + k * 11) % 250),
  );
  const requests = clients * 2;
  const engine = createEngine(model, { tokenizer: chat.tokenizer, speculation: false });
  const gateway = new Gateway({
    ...{ generator: engine, chat, contextLength: config.maximumPositions, model: "small", seed: 1 },
  });
  const server = await serveGateway(gateway);
  const rates = { engine: [] as number[], gateway: [] as number[] };
  const first: number[] = [];
  try {
    for (let round = 0; round <= rounds; round++) {
      const direct = await ofEngine(engine, prompts, clients, requests);
      const served = await ofClients(server.url, prompts, clients, requests);
      engine.weightsChanged();
      // The first round warms both up.
      if (round === 0) continue;
      rates.engine.push(direct);
      rates.gateway.push(served.rate);
      first.push(...served.first);
    }
  } finally {
    await server.close();
    await engine.close();
    model.dispose();
  }
  const sorted = first.sort((a, b) => a - b);
  return {
    clients,
    engine: median(rates.engine),
    gateway: median(rates.gateway),
    ratio: median(rates.gateway.map((rate, i) => rate / rates.engine[i]!)),
    firstToken: { median: median(sorted), p95: sorted[Math.floor(sorted.length * 0.95)]! },
  };
}

async function ofEngine(
  engine: ReturnType<typeof createEngine>,
  prompts: readonly number[][],
  clients: number,
  requests: number,
): Promise<number> {
  engine.weightsChanged();
  let next = 0;
  let drawn = 0;
  const begun = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (next < requests) {
        const index = next++;
        const { ids } = await engine.generate({
          prompt: prompts[index % prompts.length]!,
          sampling: { maximumTokens: TOKENS, stopTokens: [] },
          seed: index,
        });
        drawn += ids.length;
      }
    }),
  );
  return drawn / ((performance.now() - begun) / 1000);
}

async function ofClients(
  url: string,
  prompts: readonly number[][],
  clients: number,
  requests: number,
): Promise<{ rate: number; first: number[] }> {
  const words = [url, String(clients), String(requests), String(TOKENS)];
  const child = spawn(process.execPath, ["--import", "tsx", CLIENTS_FILE, ...words], {
    ...{
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, PROMPTS: JSON.stringify(prompts) },
    },
  });
  let text = "";
  child.stdout.on("data", (piece: Buffer) => {
    text += piece.toString();
  });
  const [code] = (await once(child, "close")) as [number];
  if (code !== 0) throw new Error(`the clients ended with code ${code}`);
  const { seconds, drawn, first } = JSON.parse(text) as {
    seconds: number;
    drawn: number;
    first: number[];
  };
  return { rate: drawn / seconds, first };
}
