/**
 * @file One attempt: a POST and its answer, whole or as a stream of events. What it may cost is bounded
 * (src/network): one deadline for all of it, so many bytes, so many characters for an event.
 */
import { ExchangeError, eventData, exchange, shown } from "../../network/index.ts";
import { connectionError, named, ServerError, statusError } from "./errors.ts";

export interface Asking {
  url: string;
  body: Record<string, unknown>;
  apiKey: string | undefined;
  /** Milliseconds for the whole answer. */
  timeout: number;
  /** Milliseconds without a piece of it; undefined: only the deadline counts. */
  silence: number | undefined;
  /** Bytes of the answer. */
  largest: number;
  signal: AbortSignal;
}

/** Bytes of an error's text that are looked at. */
const LARGEST_ERROR = 64 * 1024;

/**
 * Posts, and hands on the JSON of the answer: once for a plain answer, once per event for a stream. What
 * `take` throws ends the exchange. An abort rejects with the signal's reason; everything else that goes
 * wrong at the server is a ServerError that names it.
 */
export async function ask(asking: Asking, take: (json: unknown) => void): Promise<void> {
  const { url, body, apiKey, timeout, silence, largest, signal } = asking;
  try {
    await exchange(
      {
        ...{ url, method: "POST", body: JSON.stringify(body), signal },
        headers: {
          "content-type": "application/json",
          ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
        },
        limits: { time: timeout, size: largest, silence },
      },
      async (answer) => {
        if (!answer.ok)
          throw statusError(url, answer, (await answer.beginning(LARGEST_ERROR)).bytes.toString());
        const isStream = answer.headers.get("content-type")?.includes("text/event-stream");
        if (!isStream) return take(parseJson(await answer.text(), "its body"));
        for await (const data of eventData(answer.pieces(), largest)) {
          if (data.trim() === "[DONE]") return;
          take(parseJson(data, "an event of the stream"));
        }
      },
    );
  } catch (error) {
    if (error instanceof ExchangeError) throw exchangeError(asking, error);
    throw error instanceof ServerError ? named(url, error) : error;
  }
}

function exchangeError({ url, timeout, silence }: Asking, error: ExchangeError): ServerError {
  const doing = error.begun ? "reading the answer" : "connecting";
  const { kind, begun } = error;
  if (kind === "connection") return connectionError(url, error, doing);
  if (kind === "large")
    // The next one would be, too.
    return new ServerError(
      `${url}: ${error.message}, far more than was asked for (is it a server of completions?)`,
      { cause: error },
    );
  const isComing = kind === "late" && begun;
  const waited = (kind === "silent" ? (silence ?? timeout) : timeout) / 1000;
  const problem = isComing
    ? `the answer was not complete within ${waited} s`
    : `nothing came within ${waited} s while ${doing}`;
  return new ServerError(`${url}: ${problem} (raise timeout if it is only slow)`, {
    // A stream that took all of its time, and kept us listening, would take it again.
    retryable: !(isComing && silence !== undefined),
    cause: error,
  });
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const said = text.trim() === "" ? "nothing" : shown(text);
    // A proxy's page, or an answer cut short: the next one may be whole.
    throw new ServerError(`the server's answer: ${what} must be JSON, got ${said}`, {
      retryable: true,
      cause: error,
    });
  }
}
