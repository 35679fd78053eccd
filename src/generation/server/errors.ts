/**
 * @file What can go wrong between us and a server, and whether asking again may help.
 */
import { type Answer, type ExchangeError, oneLine, shown } from "../../network/index.ts";

export interface ServerErrorOptions {
  /** The HTTP status, where there was one. */
  status?: number;
  /** Whether the same request may succeed later. Default: false. */
  retryable?: boolean;
  /** How long the server asks us to wait, in milliseconds. */
  retryAfter?: number | null;
  cause?: unknown;
}

export class ServerError extends Error {
  readonly status: number | null;
  readonly retryable: boolean;
  readonly retryAfter: number | null;

  constructor(message: string, options: ServerErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = "ServerError";
    this.status = options.status ?? null;
    this.retryable = options.retryable ?? false;
    this.retryAfter = options.retryAfter ?? null;
  }
}

/** The same error, naming the server that it is about. */
export function named(url: string, error: ServerError): ServerError {
  if (error.message.startsWith(url)) return error;
  const { status, retryable, retryAfter, cause } = error;
  return new ServerError(`${url}: ${error.message}`, {
    ...(status !== null && { status }),
    ...{ retryable, retryAfter, cause },
  });
}

/** An error that is told in an answer's body, although the status says that all is well. */
export function reported(error: unknown): ServerError {
  const { message = error } = (typeof error === "object" ? error : {}) as { message?: unknown };
  const said = typeof message === "string" ? oneLine(message) : shown(error, 300);
  return new ServerError(`the server reports: ${said}`);
}

/** Too early, too many, too busy: statuses that pass. */
function passes(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500;
}

const ADVICE: Record<number, string> = {
  400: "it refuses the request: is the prompt too long, or an option unknown to it?",
  401: "check apiKey",
  403: "check apiKey",
  404: "check baseUrl (with /v1, as OpenAI's clients take it) and the model's name",
  413: "the prompt is too long for it",
  422: "it does not know one of the request's fields: is it the right protocol?",
};

/** The error of a response that is not 2xx. */
export function statusError(url: string, answer: Answer, body: string): ServerError {
  const { status, redirect, headers } = answer;
  const said = messageOf(body);
  const advice =
    redirect === null
      ? ADVICE[status]
      : `it redirects to ${oneLine(redirect)}: use that as baseUrl`;
  return new ServerError(
    `${url} answered ${status}${said ? `: ${said}` : ""}${advice ? ` (${advice})` : ""}`,
    {
      status,
      retryable: passes(status),
      retryAfter: parseRetryAfter(headers.get("retry-after")),
    },
  );
}

/** What an error's body says, in any of the usual forms, not too long. */
function messageOf(body: string): string {
  let found: unknown = body;
  try {
    const json = JSON.parse(body) as Record<string, unknown> | null;
    const error = json?.error as Record<string, unknown> | string | undefined;
    found = (typeof error === "object" ? error?.message : error) ?? json?.message ?? json?.detail;
  } catch {
    // Plain text or HTML: shown as it is.
  }
  found ??= body;
  return typeof found === "string" ? oneLine(found) : shown(found, 300);
}

/** Seconds or a date, as HTTP has it; in milliseconds. */
function parseRetryAfter(value: string | null): number | null {
  if (value === null) return null;
  const milliseconds = /^\s*\d+(\.\d+)?\s*$/.test(value)
    ? Number(value) * 1000
    : Date.parse(value) - Date.now();
  return Number.isNaN(milliseconds) ? null : Math.max(0, milliseconds);
}

/** The error of a connection that failed. */
export function connectionError(url: string, error: ExchangeError, doing: string): ServerError {
  return new ServerError(
    `${url}: the connection failed while ${doing}: ${oneLine(error.message)} (is the server running?)`,
    { retryable: true, cause: error },
  );
}
