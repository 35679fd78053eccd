/**
 * @file A server on loopback that answers as a test says, also wrongly, and remembers what it was asked.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach } from "vitest";

export interface Asked {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** Undefined for GET. */
  readonly body: unknown;
}

export type Answering = (asked: Asked, response: ServerResponse, count: number) => unknown;

const running: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of running.splice(0)) await stop();
});

/** To be done after the test, in any case. */
export function afterTest(stop: () => Promise<void>): void {
  running.push(stop);
}

export interface FakeServer {
  readonly url: string;
  readonly asked: Asked[];
  stop(): Promise<void>;
}

/** What `answer` returns is sent as JSON; when it returns undefined it has answered itself, or will not. */
export async function fakeServer(answer: Answering, port = 0): Promise<FakeServer> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const text = Buffer.concat(pieces).toString();
    const one: Asked = {
      method: request.method!,
      path: request.url!,
      body: text === "" ? undefined : JSON.parse(text),
    };
    asked.push(one);
    const json = await answer(one, response, asked.length);
    if (json !== undefined) sendJson(response, json);
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  afterTest(stop);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, stop };
}

export function sendJson(response: ServerResponse, json: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(json));
}
