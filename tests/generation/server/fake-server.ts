/**
 * @file A server on loopback that answers as a test says.
 */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach } from "vitest";

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
  /** Resolves when the client has closed the connection. */
  closed: Promise<void>;
}

/** Answers the n-th request (from 0). */
export type Handler = (response: ServerResponse, request: Received, n: number) => unknown;

const running: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of running.splice(0)) await stop();
});

/** Starts a server that is stopped after the test; what it receives is in `received`. */
export async function fakeServer(
  handler: Handler,
): Promise<{ baseUrl: string; received: Received[]; stop(): Promise<void> }> {
  const received: Received[] = [];
  const server = createServer(async (message, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of message) pieces.push(piece as Buffer);
    const request: Received = {
      path: message.url!,
      headers: message.headers,
      body: JSON.parse(Buffer.concat(pieces).toString()) as Record<string, unknown>,
      closed: new Promise((resolve) => response.once("close", () => resolve())),
    };
    received.push(request);
    await handler(response, request, received.length - 1);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  running.push(stop);
  return { baseUrl: `http://127.0.0.1:${port}/v1`, received, stop };
}

export function sendJson(response: ServerResponse, json: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(json));
}

export interface FakeTokens {
  ids: number[];
  logprobs: number[];
  finish?: string | null;
  stop?: string | number | null;
  /** Default: none, as from a server that was told not to make texts. */
  text?: string;
}

/** A choice as vLLM writes it. */
export function choice({ ids, logprobs, finish = null, stop = null, text = "" }: FakeTokens) {
  return {
    index: 0,
    text,
    token_ids: ids,
    logprobs:
      ids.length === 0
        ? null
        : {
            tokens: ids.map((id) => `token_id:${id}`),
            token_logprobs: logprobs,
            top_logprobs: ids.map((id, i) => ({ [`token_id:${id}`]: logprobs[i] })),
            text_offset: ids.map(() => 0),
          },
    finish_reason: finish,
    stop_reason: stop,
  };
}

/** A whole answer as vLLM writes it. */
export function answerOf(tokens: FakeTokens) {
  return {
    object: "text_completion",
    choices: [choice({ finish: "stop", ...tokens })],
    usage: {
      prompt_tokens: 3,
      completion_tokens: tokens.ids.length,
      prompt_tokens_details: { cached_tokens: 2 },
    },
  };
}

export function beginStream(response: ServerResponse): (json: unknown) => void {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  response.flushHeaders();
  return (json) =>
    response.write(`data: ${typeof json === "string" ? json : JSON.stringify(json)}\n\n`);
}
