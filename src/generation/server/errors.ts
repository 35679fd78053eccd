/**
 * @file What can go wrong between us and a server, and whether asking again may help.
 */

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
export function statusError(url: string, response: Response, body: string): ServerError {
  const { status } = response;
  const said = messageOf(body);
  const advice =
    status >= 300 && status < 400
      ? `it redirects to ${response.headers.get("location")}: use that as baseUrl`
      : ADVICE[status];
  return new ServerError(
    `${url} answered ${status}${said ? `: ${said}` : ""}${advice ? ` (${advice})` : ""}`,
    {
      status,
      retryable: passes(status),
      retryAfter: parseRetryAfter(response.headers.get("retry-after")),
    },
  );
}

/** What an error's body says, in any of the usual forms, not too long. */
export function messageOf(body: string): string {
  let found: unknown = body;
  try {
    const json = JSON.parse(body) as Record<string, unknown> | null;
    const error = json?.error as Record<string, unknown> | string | undefined;
    found = (typeof error === "object" ? error?.message : error) ?? json?.message ?? json?.detail;
  } catch {
    // Plain text or HTML: shown as it is.
  }
  const text = typeof found === "string" ? found : JSON.stringify(found ?? body);
  return shorten(text.trim());
}

export function shorten(text: string, length = 300): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}

/** Seconds or a date, as HTTP has it; in milliseconds. */
function parseRetryAfter(value: string | null): number | null {
  if (value === null) return null;
  const milliseconds = /^\s*\d+(\.\d+)?\s*$/.test(value)
    ? Number(value) * 1000
    : Date.parse(value) - Date.now();
  return Number.isNaN(milliseconds) ? null : Math.max(0, milliseconds);
}

/** The error of a connection that failed, with the reason that fetch hides in its cause. */
export function connectionError(url: string, error: unknown, doing: string): ServerError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = (cause as { code?: unknown } | null)?.code;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new ServerError(
    `${url}: the connection failed while ${doing}: ${code ? `${code} ` : ""}${reason} (is the server running?)`,
    { retryable: true, cause: error },
  );
}
