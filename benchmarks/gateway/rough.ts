/**
 * @file Thousands of requests, many of them malformed or abandoned: what is held afterwards is what was held before.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { seededRandom } from "../../src/environments/index.ts";
import { Gateway, serveGateway } from "../../src/gateway/index.ts";
import { createEngine } from "../../src/generation/index.ts";
import type { Chat, Model } from "../../src/models/index.ts";
import { memory } from "../../src/torch/index.ts";
import { statusBytes } from "../measure.ts";

export interface Rough {
  readonly requests: number;
  readonly answered: number;
  readonly refused: number;
  readonly left: number;
  /** What is held when all is over, beyond what was held after the first thousand. */
  readonly running: number;
  readonly sessions: number;
  readonly tensors: number;
  readonly sockets: number;
  /** Megabytes of the process: after the first tenth, and at the end. */
  readonly megabytes: { readonly before: number; readonly after: number };
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

export async function roughRequests(model: Model, chat: Chat, requests: number): Promise<Rough> {
  const engine = createEngine(model, { cacheBytes: 2000 * 8192, tokenizer: chat.tokenizer });
  const gateway = new Gateway({
    ...{ generator: engine, chat, contextLength: 1024, model: "m", seed: 1, maximumSessions: 64 },
  });
  const server = await serveGateway(gateway);
  const random = seededRandom("rough", requests);
  const counts = { answered: 0, refused: 0, left: 0 };
  const sockets = () =>
    process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;

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
  try {
    const early = Math.floor(requests / 10);
    await some(0, early);
    const before = { tensors: memory().tensors, megabytes: statusBytes("VmRSS") / 2 ** 20 };
    const socketsBefore = sockets();
    await some(early, requests);
    return {
      ...{ requests, ...counts, running: gateway.metrics.running, sessions: gateway.sessions },
      tensors: memory().tensors - before.tensors,
      sockets: Math.max(0, sockets() - socketsBefore),
      megabytes: { before: before.megabytes, after: statusBytes("VmRSS") / 2 ** 20 },
    };
  } finally {
    await server.close();
    gateway.close();
    await engine.close();
  }
}
