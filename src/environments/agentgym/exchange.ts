/**
 * @file One request to a server and its answer, as JSON. Whatever happens, it ends (src/network), and
 * every way to fail has a reason, and says how far the request came.
 */
import { type Answer, ExchangeError, exchange, oneLine, shown } from "../../network/index.ts";
import { isRecord } from "./shape.ts";

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
  /** The server's key, where it asks for one. */
  readonly key?: string | undefined;
  /** Milliseconds, from connecting to the last byte. */
  readonly timeout: number;
  readonly signal: AbortSignal;
}

/** Far more than any observation; a server that sends without end is cut off. */
const LARGEST_ANSWER = 16 * 1024 * 1024;
/** Bytes of an error's text that are looked at. */
const LARGEST_ERROR = 64 * 1024;

/** Sends it. Fails with ServerFailure, or with the signal's reason when that aborts. */
export async function ask({ url, body, key, timeout, signal }: Request): Promise<unknown> {
  try {
    return await exchange(
      {
        ...{ url, signal, limits: { time: timeout, size: LARGEST_ANSWER } },
        method: body === undefined ? "GET" : "POST",
        headers: {
          ...(body !== undefined && { "content-type": "application/json" }),
          ...(key !== undefined && { authorization: `Bearer ${key}` }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      },
      async (answer) => {
        if (answer.ok) return parsed(url, await answer.text());
        throw statusFailure(url, answer, (await answer.beginning(LARGEST_ERROR)).bytes.toString());
      },
    );
  } catch (error) {
    if (error instanceof ExchangeError) throw exchangeFailure(url, timeout, error);
    throw error;
  }
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
  401: "it asks for a key: name the environment variable that holds it with key=env:NAME",
  403: "it does not take requests for this address or name",
  404: "is it a server of this kind, and the url right?",
  405: "is it a server of this kind?",
  422: "it does not know these fields: is it a server of this kind?",
};

function statusFailure(url: string, { status, redirect }: Answer, text: string): ServerFailure {
  const delivery = BUSY.includes(status) ? "undelivered" : status >= 500 ? "unknown" : "refused";
  const advice =
    redirect === null ? ADVICE[status] : `it redirects to ${oneLine(redirect)}: use that as url`;
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
    return typeof said === "string" ? oneLine(said, 1000) : shown(said);
  } catch {
    return text.trim() === "" ? "" : shown(text.trim());
  }
}

/** Failures to connect: nothing was sent. */
const NEVER_SENT = [
  ...["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"],
  "UND_ERR_CONNECT_TIMEOUT",
];

function exchangeFailure(url: string, timeout: number, error: ExchangeError): ServerFailure {
  const doing = error.begun ? "in the middle of its answer" : "before it answered";
  const delivery = NEVER_SENT.includes(error.code ?? "") ? "undelivered" : "unknown";
  const message = {
    late: `${url} did not answer within ${timeout / 1000} s: it stopped ${doing} (raise timeout if it is only slow)`,
    silent: `${url}: ${error.message}`,
    large: `${url}: ${error.message}; is this an AgentGym server?`,
    connection:
      delivery === "undelivered"
        ? `${url} cannot be reached: ${oneLine(error.message)} (is the server running?)`
        : `${url}: the connection broke ${doing}: ${oneLine(error.message)}`,
  }[error.kind];
  return new ServerFailure(delivery, message, { cause: error });
}
