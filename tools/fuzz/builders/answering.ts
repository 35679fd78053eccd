/**
 * @file A server on loopback whose answers are the input: to requests, and on web sockets, one after the other.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";

export interface AnsweringServer {
  readonly url: string;
  /** What is answered from now on; the last one again and again. "ID" in it becomes the request's id. */
  give(answers: readonly string[], contentType?: string): void;
  close(): Promise<void>;
}

export async function answeringServer(): Promise<AnsweringServer> {
  let answers: readonly string[] = [];
  let type = "application/json";
  let next = 0;
  const answerTo = (asked: string): string => {
    const answer = answers[Math.min(next++, answers.length - 1)] ?? "";
    const id = /"id":(\d+)/.exec(asked)?.[1];
    return id === undefined ? answer : answer.replaceAll('"ID"', id);
  };
  const server = createServer((request, response) => {
    let asked = "";
    response.on("error", () => {});
    request.on("data", (piece: Buffer) => {
      asked += piece.toString();
    });
    request.on("end", () => {
      response.writeHead(200, { "content-type": type }).end(answerTo(asked));
    });
  });
  const sockets = new WebSocketServer({ server });
  sockets.on("connection", (socket) => {
    socket.on("error", () => {});
    socket.on("message", (asked) => socket.send(answerTo(String(asked))));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    give(given, contentType = "application/json") {
      answers = given;
      type = contentType;
      next = 0;
    },
    async close() {
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A list of answers of a value: texts as they are, others as JSON. */
export function answersOf(given: Buffer): string[] {
  const text = given.toString();
  try {
    const list: unknown = JSON.parse(text);
    if (Array.isArray(list))
      return list.map((item) => (typeof item === "string" ? item : JSON.stringify(item)));
  } catch {
    // It is one answer, and no JSON.
  }
  return [text];
}
