/**
 * @file Web sockets of a server of ours: whoever may ask the server may open one, each is a session that is
 * asked one thing after the other, and what it may cost is limited as it is for requests.
 */
import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { type GateRules, type Refusal, refusalOf } from "./gate.ts";

/** One connection's side of the server. */
export interface SocketSession {
  /** Undefined: nothing more is to be said, and the connection is closed. Must not reject. */
  answer(text: string): Promise<string | undefined>;
  /** The connection has ended. */
  ended(): void;
}

export interface SocketOptions {
  /** "/ws": the one path at which sockets are opened. */
  readonly path: string;
  /** How many there may be at once; others are refused with 503. */
  readonly maximum: number;
  /** Bytes of a message. */
  readonly largestMessage: number;
  open(): SocketSession;
}

/** Messages of one connection that were not answered yet. */
const MOST_WAITING = 32;
/** Milliseconds between two signs of life that are asked for. */
const HEARTBEAT = 30_000;
/** Bytes that a client has not taken: it is gone, or does not read. */
const MOST_UNSENT = 64 * 2 ** 20;

/** Gives the function that ends them all. */
export function serveSockets(server: Server, options: SocketOptions, rules: GateRules): () => void {
  const { path, maximum, largestMessage } = options;
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: largestMessage,
    // Packed, a few bytes could mean as much as may be held.
    perMessageDeflate: false,
  });
  const refusal = (request: IncomingMessage): Refusal | undefined => {
    const refused = refusalOf(request, rules);
    if (refused) return refused;
    if (new URL(request.url ?? "", "http://server").pathname !== path)
      return { status: 404, sentence: "there is no web socket here." };
    return sockets.clients.size >= maximum
      ? {
          status: 503,
          sentence: "there are as many connections as this server keeps; come back later.",
        }
      : undefined;
  };
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => {});
    const refused = refusal(request);
    if (refused) {
      const body = JSON.stringify({ detail: refused.sentence });
      socket.end(
        `HTTP/1.1 ${refused.status} Refused\r\ncontent-type: application/json\r\nconnection: close\r\n` +
          `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      );
      return;
    }
    sockets.handleUpgrade(request, socket, head, (connection) =>
      converse(connection, options.open()),
    );
  });
  return () => {
    for (const connection of sockets.clients) connection.terminate();
    sockets.close();
  };
}

function converse(connection: WebSocket, session: SocketSession): void {
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();
  let isAlive = true;
  const heartbeat = setInterval(() => {
    if (!isAlive || connection.bufferedAmount > MOST_UNSENT) {
      connection.terminate();
      return;
    }
    isAlive = false;
    connection.ping();
  }, HEARTBEAT);
  heartbeat.unref();
  connection.on("pong", () => {
    isAlive = true;
  });
  // What goes wrong with a connection shows in its end.
  connection.on("error", () => {});
  connection.on("close", () => {
    clearInterval(heartbeat);
    session.ended();
  });
  connection.on("message", (data, isBinary) => {
    if (isBinary || waiting >= MOST_WAITING) {
      connection.close(isBinary ? 1003 : 1008, isBinary ? "texts only" : "wait for answers");
      return;
    }
    waiting++;
    const text = String(data);
    last = last.then(async () => {
      const answer =
        connection.readyState === connection.OPEN ? await session.answer(text) : undefined;
      waiting--;
      if (answer === undefined) connection.close(1000);
      else if (connection.readyState === connection.OPEN) connection.send(answer);
    });
  });
}
