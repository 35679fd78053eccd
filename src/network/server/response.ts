/**
 * @file From the web's response to Node's: status, headers, and a body that may be a stream without end.
 */
import { once } from "node:events";
import type { ServerResponse } from "node:http";

/** What concerns only one connection; Node decides about it. */
const OF_CONNECTIONS = ["connection", "keep-alive", "transfer-encoding", "upgrade", "trailer"];

/** Said of every answer, unless the handler says otherwise. */
const USUAL: Readonly<Record<string, string>> = {
  // A browser must not take JSON for a page, and no other page may embed it.
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin",
};

/**
 * Sends it. Resolves when all is sent, or the client is gone, or has not taken anything for `stall`
 * milliseconds; then the body's stream is cancelled.
 */
export async function sendResponse(
  response: Response,
  outgoing: ServerResponse,
  stall: number,
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  const headers = new Headers({ ...USUAL, ...Object.fromEntries(response.headers), ...more });
  for (const name of [...OF_CONNECTIONS, "set-cookie"]) headers.delete(name);
  const cookies = response.headers.getSetCookie();
  for (const [name, value] of headers) outgoing.setHeader(name, value);
  if (cookies.length > 0) outgoing.setHeader("set-cookie", cookies);
  outgoing.writeHead(response.status);
  const reader = (response.body as ReadableStream<Uint8Array> | null)?.getReader();
  if (!reader || outgoing.req.method === "HEAD") {
    await reader?.cancel().catch(() => {});
    outgoing.end();
    return;
  }
  // A stream may begin long after its headers.
  outgoing.flushHeaders();
  const leave = () => void reader.cancel().catch(() => {});
  outgoing.once("close", leave);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || outgoing.destroyed) break;
      if (!outgoing.write(value) && !(await drained(outgoing, stall))) break;
    }
    outgoing.end();
  } catch {
    // Half an answer must not look like a whole one.
    outgoing.destroy();
    leave();
  } finally {
    outgoing.off("close", leave);
  }
}

/** False, and an end of the connection, when the client takes nothing. */
async function drained(outgoing: ServerResponse, stall: number): Promise<boolean> {
  const stop = new AbortController();
  const clock = setTimeout(() => outgoing.destroy(), stall);
  try {
    const { signal } = stop;
    await Promise.race([once(outgoing, "drain", { signal }), once(outgoing, "close", { signal })]);
    return !outgoing.destroyed;
  } finally {
    clearTimeout(clock);
    stop.abort();
  }
}
