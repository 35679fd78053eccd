/**
 * @file One attempt: a POST and its answer, whole or as a stream of events.
 */
import { connectionError, ServerError, shorten, statusError } from "./errors.ts";
import { eventData } from "./events.ts";

export interface Exchange {
  url: string;
  body: Record<string, unknown>;
  apiKey: string | undefined;
  /** Milliseconds for a whole answer; of a stream, between two pieces. */
  timeout: number;
  signal: AbortSignal;
}

/**
 * Posts, and yields the JSON of the answer: one for a plain answer, one per event for a stream. The
 * connection is closed when the consumer stops. An abort rejects with the signal's reason.
 */
export async function* exchange(options: Exchange): AsyncGenerator<unknown> {
  const { url, signal } = options;
  signal.throwIfAborted();
  const connection = new AbortController();
  const forward = () => connection.abort(signal.reason);
  signal.addEventListener("abort", forward, { once: true });
  const clock = silenceClock(options.timeout, () => connection.abort());
  let doing = "connecting";
  try {
    const response = await fetch(url, request(options, connection.signal));
    doing = "reading the answer";
    if (!response.ok) throw statusError(url, response, await response.text());
    const isStream = response.headers.get("content-type")?.includes("text/event-stream");
    if (isStream) yield* events(response, clock.restart);
    else yield parseJson(await response.text(), "its body");
  } catch (error) {
    signal.throwIfAborted();
    if (clock.expired)
      throw new ServerError(
        `${url}: nothing came within ${options.timeout / 1000} s while ${doing} (raise timeout if it is only slow)`,
        { retryable: true },
      );
    throw error instanceof ServerError ? error : connectionError(url, error, doing);
  } finally {
    clock.stop();
    signal.removeEventListener("abort", forward);
    connection.abort();
  }
}

function request({ body, apiKey }: Exchange, signal: AbortSignal): RequestInit {
  return {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
    },
    body: JSON.stringify(body),
    // Elsewhere might be anywhere: the prompt and the key go only where the caller said.
    redirect: "manual",
    signal,
  };
}

async function* events(response: Response, alive: () => void): AsyncGenerator<unknown> {
  if (!response.body) throw new ServerError("the server's answer has no body");
  const pieces = watched(response.body, alive);
  for await (const data of eventData(pieces)) {
    if (data.trim() === "[DONE]") return;
    yield parseJson(data, "an event of the stream");
  }
}

async function* watched(
  body: AsyncIterable<Uint8Array>,
  alive: () => void,
): AsyncGenerator<Uint8Array> {
  for await (const piece of body) {
    alive();
    yield piece;
  }
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const shown = text.trim() === "" ? "nothing" : JSON.stringify(shorten(text, 200));
    // A proxy's page, or an answer cut short: the next one may be whole.
    throw new ServerError(`the server's answer: ${what} must be JSON, got ${shown}`, {
      retryable: true,
      cause: error,
    });
  }
}

/** Calls back when nothing has restarted it for so long. */
function silenceClock(timeout: number, onSilence: () => void) {
  const clock = { expired: false, restart, stop: () => clearTimeout(timer) };
  let timer = setTimeout(expire, timeout);
  function expire(): void {
    clock.expired = true;
    onSilence();
  }
  function restart(): void {
    clearTimeout(timer);
    timer = setTimeout(expire, timeout);
  }
  return clock;
}
