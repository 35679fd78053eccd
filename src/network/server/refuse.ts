/**
 * @file How a server says no: a status and a sentence, as JSON.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Refusal } from "./gate.ts";
import type { ServerOptions } from "./open.ts";

/** Milliseconds in which a client may still send what nobody reads, so that it sees the answer. */
export const GRACE = 500;

type Style = Pick<ServerOptions, "refusalBody">;

/** Where an answer has begun already, the connection ends instead. */
export function sendRefusal(
  style: Style,
  outgoing: ServerResponse,
  { status, sentence, headers = {} }: Refusal,
  more: Readonly<Record<string, string>>,
): void {
  if (outgoing.headersSent || outgoing.destroyed) {
    outgoing.destroy();
    return;
  }
  const body = Buffer.from(bodyText(style, status, sentence));
  outgoing.writeHead(status, {
    ...{ "content-type": "application/json", "content-length": body.length },
    ...{ "x-content-type-options": "nosniff", ...headers, ...more },
  });
  outgoing.end(outgoing.req.method === "HEAD" ? undefined : body);
}

type Malformed = readonly [status: number, name: string, sentence: string];

const NO_REQUEST: Malformed = [400, "Bad Request", "this is no request of HTTP."];
/** By Node's codes. */
const MALFORMED: Readonly<Record<string, Malformed>> = {
  HPE_HEADER_OVERFLOW: [431, "Request Header Fields Too Large", "the headers exceed 16 KB."],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, "Payload Too Large", "the body's chunks are mostly chunks."],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "Request Timeout", "the request took too long to arrive."],
};

/** What is no request: answered where that can be done without mixing it into another answer. */
export function answerMalformed(
  style: Style,
  { code = "" }: NodeJS.ErrnoException,
  socket: Socket & { _httpMessage?: ServerResponse | null },
): void {
  // Node keeps there which answer is being written.
  if (!socket.writable || code === "ECONNRESET" || socket._httpMessage?.headersSent) {
    socket.destroy();
    return;
  }
  const [status, name, sentence] = MALFORMED[code] ?? NO_REQUEST;
  const body = bodyText(style, status, sentence);
  const head = [
    `HTTP/1.1 ${status} ${name}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
  setTimeout(() => socket.destroy(), GRACE).unref();
}

function bodyText({ refusalBody }: Style, status: number, sentence: string): string {
  return JSON.stringify(refusalBody ? refusalBody(status, sentence) : { detail: sentence });
}
