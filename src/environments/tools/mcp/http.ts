/**
 * @file A server behind HTTP ("streamable HTTP"): each message is a POST, answered with JSON or with a
 * stream of events. What an answer may cost is bounded (src/network).
 */
import {
  type Answer,
  ExchangeError,
  type ExchangeLimits,
  eventData,
  exchange,
  oneLine,
} from "../../../network/index.ts";
import {
  LARGEST_MESSAGE,
  type Notification,
  PROTOCOL_VERSION,
  type Request,
  readMessage,
  resultOf,
  type Transport,
} from "./message.ts";

/** Milliseconds. Requests have a deadline of the caller's, in their signal; this one is for all. */
const LONGEST = 3_600_000;
/** For what needs no answer. */
const NOTICE = 10_000;
const FAREWELL = 2000;
/** Bytes of an error's text that are looked at. */
const LARGEST_ERROR = 4096;
/** An id that a server gives to a session goes into a header of ours. */
const SESSION = /^[\u0021-\u007e]{1,1024}$/;

export function httpServer(url: string): Transport {
  let session: string | undefined;
  let isOpen = true;

  function send<Result>(
    message: Request | Notification,
    time: number,
    signal: AbortSignal | undefined,
    read: (answer: Answer) => Promise<Result>,
  ): Promise<Result> {
    const isFirst = message.method === "initialize";
    const limits: ExchangeLimits = { time, size: LARGEST_MESSAGE };
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(!isFirst && { "mcp-protocol-version": PROTOCOL_VERSION }),
      ...(session !== undefined && { "mcp-session-id": session }),
    };
    const body = JSON.stringify(message);
    return exchange({ url, method: "POST", headers, body, signal, limits }, async (answer) => {
      const given = answer.headers.get("mcp-session-id") ?? "";
      if (SESSION.test(given)) session = given;
      if (answer.ok) return read(answer);
      if (answer.redirect !== null)
        throw new Error(
          `${url} cannot be reached (it redirects to ${oneLine(answer.redirect)}: give that address)`,
        );
      // A session that the server has forgotten: the next call begins another.
      if (answer.status === 404) isOpen = false;
      const said = oneLine((await answer.beginning(LARGEST_ERROR)).bytes.toString());
      throw new Error(`${url} answered ${answer.status}${said ? `: ${said}` : ""}`);
    }).catch((error: unknown) => {
      throw error instanceof ExchangeError ? exchangeError(url, error) : error;
    });
  }

  return {
    get isOpen() {
      return isOpen;
    },
    request: (request, signal) =>
      send(request, LONGEST, signal, async (answer) => {
        const isStream = answer.headers.get("content-type")?.includes("text/event-stream");
        const texts = isStream
          ? eventData(answer.pieces(), LARGEST_MESSAGE)
          : [await answer.text()];
        for await (const text of texts) {
          const message = readMessage(text);
          if (message?.id === request.id && message.method === undefined) return resultOf(message);
        }
        throw new Error(`${url} gave no answer that can be read`);
      }),
    notify: (notification) => send(notification, NOTICE, undefined, async () => {}),
    close() {
      isOpen = false;
      if (session === undefined) return;
      // Polite, and nothing depends on it.
      const headers = { "mcp-session-id": session };
      const limits = { time: FAREWELL, size: LARGEST_ERROR };
      exchange({ url, method: "DELETE", headers, limits }, () => {}).catch(() => {});
    },
  };
}

function exchangeError(url: string, error: ExchangeError): Error {
  if (error.kind === "connection" && !error.begun)
    return new Error(`${url} cannot be reached (${oneLine(error.message)})`);
  const problem = error.kind === "large" ? "the server's answer is too long" : error.message;
  return new Error(`${url}: ${oneLine(problem)}`, { cause: error });
}
