/**
 * @file Thousands of requests, many of them malformed or abandoned: what is held afterwards is what was held before.
 * The clients are in this process, too: what they hold is counted with the server's.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { seededRandom } from "../../src/environments/index.ts";
import { Gateway, serveGateway } from "../../src/gateway/index.ts";
import { createEngine, type Engine } from "../../src/generation/index.ts";
import type { Chat, Model } from "../../src/models/index.ts";
import { memory, returnFreedMemory } from "../../src/torch/index.ts";
import { heapBytes } from "../environments.ts";
import { statusBytes } from "../measure.ts";

/** What is held while nobody asks. */
export interface Held {
  readonly tensors: number;
  /** Pages of the cache that somebody uses: sessions between their turns. */
  readonly pages: number;
  /** Both ends, and connections that clients keep for their next question. */
  readonly sockets: number;
  /**
   * Megabytes of the process; of them, what is left when the allocator has given back what was freed, and JavaScript's
   * objects and buffers, garbage collected.
   */
  readonly megabytes: number;
  readonly used: number;
  readonly heap: number;
}

export interface Rough {
  readonly requests: number;
  readonly answered: number;
  readonly refused: number;
  readonly left: number;
  /** Replies that are being drawn when all is over. */
  readonly running: number;
  readonly sessions: number;
  /** After each tenth of the requests. */
  readonly held: readonly Held[];
  /** When the server is closed, and the engine not yet. */
  readonly closed: Held;
}

const BODIES = [
  "{",
  "[]",
  '{"messages": []}',
  '{"messages": [{"role": "user", "content": 7}]}',
  `{"messages": ${"[".repeat(5000)}`,
  '{"messages": [{"role": "user", "content": "x"}], "temperature": -1}',
  '{"messages": [{"role": "user", "content": "x"}], "logit_bias": {"99999999": 1}}',
  '{"messages": [{"role": "user", "content": "x"}], "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "x"}}}}',
];

const PARTS = 10;

export async function roughRequests(model: Model, chat: Chat, requests: number): Promise<Rough> {
  const engine = createEngine(model, { cacheBytes: 2000 * 8192, tokenizer: chat.tokenizer });
  const gateway = new Gateway({
    ...{ generator: engine, chat, contextLength: 1024, model: "m", seed: 1, maximumSessions: 64 },
  });
  const server = await serveGateway(gateway);
  const random = seededRandom("rough", requests);
  const counts = { answered: 0, refused: 0, left: 0 };

  async function one(index: number): Promise<void> {
    const kind = random.integer(10);
    const leaving = new AbortController();
    const body =
      kind < 3
        ? random.pick(BODIES)
        : JSON.stringify({
            messages: [{ role: "user", content: `go to desk ${index}` }],
            ...{ max_tokens: kind < 6 ? 300 : 4, stream: kind % 2 === 0 },
          });
    const timer =
      kind >= 3 && kind < 6 ? setTimeout(() => leaving.abort(), random.integer(40)) : undefined;
    try {
      const answer = await fetch(`${server.url}/v1/chat/completions`, {
        ...{ method: "POST", body, signal: leaving.signal },
        headers: {
          "content-type": "application/json",
          ...(kind % 3 === 0 && { "x-session-id": `s${index % 200}` }),
        },
      });
      await answer.text();
      if (answer.ok) counts.answered++;
      else if (answer.status < 500) counts.refused++;
      else throw new Error(`${answer.status} for ${body.slice(0, 100)}`);
    } catch (error) {
      if (!leaving.signal.aborted) throw error;
      counts.left++;
    } finally {
      clearTimeout(timer);
    }
  }

  const some = async (from: number, to: number) => {
    let next = from;
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        while (next < to) await one(next++);
      }),
    );
    for (let i = 0; i < 200 && gateway.metrics.running > 0; i++) await sleep(50);
    await sleep(500);
  };
  const held: Held[] = [];
  try {
    for (let part = 0; part < PARTS; part++) {
      const border = (count: number) => Math.floor((requests * count) / PARTS);
      await some(border(part), border(part + 1));
      held.push(await heldNow(engine));
    }
    const { metrics, sessions } = gateway;
    const { running } = metrics;
    await server.close();
    gateway.close();
    // Connections that clients kept end a moment later.
    await sleep(500);
    return { requests, ...counts, running, sessions, held, closed: await heldNow(engine) };
  } finally {
    await server.close();
    gateway.close();
    await engine.close();
  }
}

async function heldNow(engine: Engine): Promise<Held> {
  const heap = await heapBytes();
  const megabytes = statusBytes("VmRSS") / 2 ** 20;
  returnFreedMemory();
  return {
    tensors: memory().tensors,
    pages: engine.heldPages,
    sockets: process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length,
    ...{ megabytes, used: statusBytes("VmRSS") / 2 ** 20, heap: heap / 2 ** 20 },
  };
}
