/**
 * @file A server behind HTTP ("streamable HTTP"): each message is a POST, answered with JSON or with a
 * stream of events.
 */
import {
  LARGEST_MESSAGE,
  type Notification,
  PROTOCOL_VERSION,
  type Request,
  readMessage,
  resultOf,
  type Transport,
} from "./message.ts";

export function httpServer(url: string): Transport {
  let session: string | undefined;
  let isOpen = true;

  async function post(message: Request | Notification, signal?: AbortSignal): Promise<Response> {
    const isFirst = message.method === "initialize";
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...(!isFirst && { "mcp-protocol-version": PROTOCOL_VERSION }),
        ...(session !== undefined && { "mcp-session-id": session }),
      },
      body: JSON.stringify(message),
      redirect: "error",
      ...(signal && { signal }),
    }).catch((error: Error) => {
      signal?.throwIfAborted();
      const cause = error.cause instanceof Error ? error.cause.message : error.message;
      throw new Error(`${url} cannot be reached (${cause})`);
    });
    session = response.headers.get("mcp-session-id") ?? session;
    if (response.ok) return response;
    // A session that the server has forgotten: the next call begins another.
    if (response.status === 404) isOpen = false;
    const said = (await readWhole(response)).slice(0, 300);
    throw new Error(`${url} answered ${response.status}${said ? `: ${said}` : ""}`);
  }

  return {
    get isOpen() {
      return isOpen;
    },
    async request(request, signal) {
      const response = await post(request, signal);
      const isStream = response.headers.get("content-type")?.includes("text/event-stream");
      const texts = isStream ? eventData(response) : [await readWhole(response)];
      for await (const text of texts) {
        const message = readMessage(text);
        if (message?.id !== request.id || message.method !== undefined) continue;
        await response.body?.cancel().catch(() => {});
        return resultOf(message);
      }
      throw new Error(`${url} gave no answer that can be read`);
    },
    async notify(notification) {
      const response = await post(notification, AbortSignal.timeout(10_000));
      await response.body?.cancel();
    },
    close() {
      isOpen = false;
      if (session === undefined) return;
      // Polite, and nothing depends on it.
      const headers = { "mcp-session-id": session };
      fetch(url, { method: "DELETE", headers, signal: AbortSignal.timeout(2000) })
        .then((response) => response.body?.cancel())
        .catch(() => {});
    },
  };
}

async function* pieces(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let length = 0;
  for await (const piece of response.body ?? []) {
    length += (piece as Uint8Array).length;
    if (length > LARGEST_MESSAGE) throw new Error("the server's answer is too long");
    yield decoder.decode(piece as Uint8Array, { stream: true });
  }
}

async function readWhole(response: Response): Promise<string> {
  let text = "";
  for await (const piece of pieces(response)) text += piece;
  return text;
}

/** The data of each event; events are separated by empty lines. */
async function* eventData(response: Response): AsyncGenerator<string> {
  let parts: string[] = [];
  for await (const piece of pieces(response)) {
    const end = parts.at(-1)?.slice(-3) ?? "";
    parts.push(piece);
    // Only where an event ends is it worth looking at all of it.
    if (!/\n\r?\n/.test(end + piece)) continue;
    const events = parts.join("").split(/\r?\n\r?\n/);
    // The last one may not be whole yet.
    parts = [events.pop() ?? ""];
    for (const event of events) yield dataOf(event);
  }
  yield dataOf(parts.join(""));
}

function dataOf(event: string): string {
  return event
    .split(/\r?\n/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(5).replace(/^ /, ""))
    .join("\n");
}
