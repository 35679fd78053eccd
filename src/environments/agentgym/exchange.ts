/**
 * @file One request to a server and its answer, as JSON. Whatever happens, it ends: there is one
 * deadline for the whole of it, an answer has a largest size, and every way to fail has a reason.
 */
import { isRecord, shown } from "./shape.ts";

/**
 * How far a request that failed came.
 *
 * undelivered: it did not reach the world, so sending it again is safe; unknown: the world may have
 * acted on it or not; refused: the server understood it and said no, and would again.
 */
export type Delivery = "undelivered" | "unknown" | "refused";

export class ServerFailure extends Error {
  override name = "ServerFailure";
  readonly delivery: Delivery;

  constructor(delivery: Delivery, message: string, options?: ErrorOptions) {
    super(message, options);
    this.delivery = delivery;
  }
}

export interface Request {
  readonly url: string;
  /** Makes it a POST. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** Milliseconds, from connecting to the last byte. */
  readonly timeout: number;
  readonly signal: AbortSignal;
}

/** Far more than any observation; a server that sends without end is cut off. */
export const LARGEST_ANSWER = 16 * 1024 * 1024;

/** Sends it. Fails with ServerFailure, or with the signal's reason when that aborts. */
export async function exchange(request: Request): Promise<unknown> {
  const { url, body, timeout, signal } = request;
  signal.throwIfAborted();
  const connection = new AbortController();
  const give = () => connection.abort(signal.reason);
  signal.addEventListener("abort", give, { once: true });
  let late = false;
  const clock = setTimeout(() => {
    late = true;
    connection.abort();
  }, timeout);
  let doing = "before it answered";
  try {
    const response = await fetch(url, {
      method: body === undefined ? "GET" : "POST",
      ...(body !== undefined && {
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
      redirect: "manual",
      signal: connection.signal,
    });
    doing = "in the middle of its answer";
    const text = await textOf(response, url);
    if (!response.ok) throw statusFailure(url, response, text);
    return parsed(url, text);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ServerFailure) throw error;
    if (late)
      throw new ServerFailure(
        "unknown",
        `${url} did not answer within ${timeout / 1000} s: it stopped ${doing} (raise timeout if it is only slow)`,
      );
    throw connectionFailure(url, error, doing);
  } finally {
    clearTimeout(clock);
    signal.removeEventListener("abort", give);
    connection.abort();
  }
}

async function textOf(response: Response, url: string): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of response.body ?? []) {
    size += piece.length;
    if (size > LARGEST_ANSWER)
      throw new ServerFailure(
        "unknown",
        `${url} answers with more than ${LARGEST_ANSWER / 1024 / 1024} MB; is this an AgentGym server?`,
      );
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

function parsed(url: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const said = text.trim() === "" ? "nothing" : shown(text);
    throw new ServerFailure("unknown", `${url} must answer with JSON, and answered ${said}`, {
      cause: error,
    });
  }
}

/** Too busy: statuses with which a server says that it has not even looked at the request. */
const BUSY = [429, 503];

const ADVICE: Readonly<Record<number, string>> = {
  404: "is it a server of this kind, and the url right?",
  405: "is it a server of this kind?",
  422: "it does not know these fields: is it a server of this kind?",
};

function statusFailure(url: string, { status, headers }: Response, text: string): ServerFailure {
  const delivery = BUSY.includes(status) ? "undelivered" : status >= 500 ? "unknown" : "refused";
  const advice =
    status >= 300 && status < 400
      ? `it redirects to ${headers.get("location")}: use that as url`
      : ADVICE[status];
  const said = errorText(text);
  return new ServerFailure(
    delivery,
    `${url} answered with status ${status}${said && `: ${said}`}${advice ? ` (${advice})` : ""}`,
  );
}

/** What FastAPI, we or others write about an error. */
function errorText(text: string): string {
  try {
    const json: unknown = JSON.parse(text);
    const said = isRecord(json) ? (json.detail ?? json.error ?? json) : json;
    return typeof said === "string" ? said : shown(said);
  } catch {
    return text.trim() === "" ? "" : shown(text.trim());
  }
}

/** Failures to connect: nothing was sent. */
const NEVER_SENT = [
  ...["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"],
  "UND_ERR_CONNECT_TIMEOUT",
];

function connectionFailure(url: string, error: unknown, doing: string): ServerFailure {
  // fetch hides the reason in its cause, and may hide several in one.
  let cause: unknown = error instanceof Error ? (error.cause ?? error) : error;
  if (cause instanceof AggregateError) cause = cause.errors[0];
  const { code, message } = (cause ?? {}) as { code?: unknown; message?: unknown };
  const reason = [code, message].filter((part) => typeof part === "string").join(" ");
  const delivery = NEVER_SENT.includes(String(code)) ? "undelivered" : "unknown";
  return new ServerFailure(
    delivery,
    delivery === "undelivered"
      ? `${url} cannot be reached: ${reason} (is the server running?)`
      : `${url}: the connection broke ${doing}: ${reason}`,
    { cause: error },
  );
}
