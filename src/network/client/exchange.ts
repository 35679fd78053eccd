/**
 * @file One request and its answer, and what that may cost: an answer has a largest size, there is one
 * deadline for the whole of it, no redirect is followed, and the connection is closed on every way out.
 *
 * Whoever is at the other end may be slow, broken or hostile. Callers say what is allowed and turn an
 * ExchangeError into an error and a sentence of their own.
 */

export interface ExchangeLimits {
  /** Milliseconds for all of it, from connecting to the last byte. */
  readonly time: number;
  /** Bytes of the answer's body, unpacked. */
  readonly size: number;
  /** Milliseconds without a byte, for streams. It never makes `time` longer. */
  readonly silence?: number | undefined;
}

export interface ExchangeRequest {
  readonly url: string | URL;
  /** Default: GET. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A Blob is read as it is sent, and its length is known: for files (openAsBlob). */
  readonly body?: string | Blob;
  /** Ends the exchange with its reason. */
  readonly signal?: AbortSignal | undefined;
  readonly limits: ExchangeLimits;
  /** Another way to connect than fetch; it must end when the signal aborts. */
  readonly connect?: (signal: AbortSignal) => Promise<Connected>;
}

/** The beginning of an answer, before its body is read. */
export interface Connected {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly body: AsyncIterable<Uint8Array> | null;
}

export interface Answer extends Omit<Connected, "body"> {
  /** Whether the status is 200 to 299. */
  readonly ok: boolean;
  /** Where a redirect leads; null where it is none. */
  readonly redirect: string | null;
  /** The body as it comes. More than the largest size is an ExchangeError. */
  pieces(): AsyncGenerator<Uint8Array>;
  /** The whole body. */
  text(): Promise<string>;
  /** The first bytes of the body, for what is only shown; the rest is not waited for. */
  beginning(bytes: number): Promise<{ bytes: Buffer; isCut: boolean }>;
}

/**
 * late: the deadline; silent: nothing came for too long; large: body or headers are larger than allowed;
 * connection: refused, broken off, or no HTTP.
 */
export type FailureKind = "late" | "silent" | "large" | "connection";

export class ExchangeError extends Error {
  override name = "ExchangeError";
  readonly kind: FailureKind;
  /** Whether the answer had begun. */
  readonly begun: boolean;
  /** The system's or fetch's word for it: ECONNREFUSED. */
  readonly code: string | undefined;

  constructor(kind: FailureKind, begun: boolean, message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
    this.begun = begun;
    const { code } = (rootOf(cause) ?? {}) as { code?: unknown };
    this.code = typeof code === "string" ? code : undefined;
  }
}

/**
 * Sends the request and reads the answer. Fails with ExchangeError, with the signal's reason when that
 * aborts, or with whatever `read` throws.
 */
export async function exchange<Result>(
  request: ExchangeRequest,
  read: (answer: Answer) => Result | Promise<Result>,
): Promise<Result> {
  const { signal, limits } = request;
  signal?.throwIfAborted();
  const stop = new AbortController();
  const forward = (): void => stop.abort(signal?.reason);
  signal?.addEventListener("abort", forward, { once: true });
  const clocks = startClocks(limits, () => stop.abort());
  let begun = false;
  /** Only what connecting and reading throw is ours to explain; errors of the caller stay as they are. */
  const explained = (error: unknown): unknown => {
    if (signal?.aborted) return signal.reason;
    if (error instanceof ExchangeError) return error;
    return clocks.expired ? expiredError(clocks.expired, limits, begun) : lost(error, begun);
  };
  try {
    const connected = await (request.connect ?? connectWith(request))(stop.signal).catch(
      (error: unknown) => {
        throw explained(error);
      },
    );
    begun = true;
    clocks.heard();
    return await read(answerOf(connected, limits.size, clocks.heard, explained));
  } finally {
    clocks.stop();
    signal?.removeEventListener("abort", forward);
    stop.abort();
  }
}

function connectWith({ url, method = "GET", headers, body }: ExchangeRequest) {
  return async (signal: AbortSignal): Promise<Connected> =>
    fetch(url, {
      method,
      ...(headers && { headers }),
      ...(body !== undefined && { body }),
      // Elsewhere might be anywhere: what is sent, and the key, go only where the caller said.
      redirect: "manual",
      signal,
    });
}

function answerOf(
  { status, statusText, headers, body }: Connected,
  size: number,
  heard: () => void,
  explained: (error: unknown) => unknown,
): Answer {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    let length = 0;
    const source = body?.[Symbol.asyncIterator]();
    try {
      while (source) {
        const { done, value } = await source.next().catch((error: unknown) => {
          throw explained(error);
        });
        if (done) return;
        heard();
        length += value.length;
        if (length > size)
          throw new ExchangeError("large", true, `the answer has more than ${sizeText(size)}`);
        yield value;
      }
    } finally {
      // Its connection is aborted in any case; whether the stream minds that does not matter.
      source?.return?.().catch(() => {});
    }
  }
  return {
    ...{ status, statusText, headers, pieces },
    ok: status >= 200 && status < 300,
    redirect: status >= 300 && status < 400 ? headers.get("location") : null,
    async text() {
      const parts: Uint8Array[] = [];
      for await (const piece of pieces()) parts.push(piece);
      return new TextDecoder().decode(Buffer.concat(parts));
    },
    async beginning(most) {
      const parts: Uint8Array[] = [];
      let length = 0;
      for await (const piece of pieces()) {
        parts.push(piece.subarray(0, most - length));
        length += piece.length;
        if (length > most) break;
      }
      return { bytes: Buffer.concat(parts), isCut: length > most };
    },
  };
}

/** Node's timers take 31 bits, and call back at once for more. */
const LONGEST = 2 ** 31 - 1;

/** Both clocks call back once; `expired` says which did. */
function startClocks({ time, silence }: ExchangeLimits, onExpired: () => void) {
  const expire = (which: "late" | "silent") => () => {
    clocks.expired ??= which;
    onExpired();
  };
  const start = (which: "late" | "silent", after: number) =>
    setTimeout(expire(which), Math.min(after, LONGEST));
  const whole = start("late", time);
  const quiet = silence === undefined ? undefined : start("silent", silence);
  const clocks = {
    expired: undefined as "late" | "silent" | undefined,
    heard: (): void => void (clocks.expired ?? quiet?.refresh()),
    stop(): void {
      clearTimeout(whole);
      clearTimeout(quiet);
    },
  };
  return clocks;
}

function expiredError(
  which: "late" | "silent",
  { time, silence = 0 }: ExchangeLimits,
  begun: boolean,
): ExchangeError {
  return new ExchangeError(
    which,
    begun,
    which === "late"
      ? `the answer was not complete within ${time / 1000} s`
      : `nothing came for ${silence / 1000} s`,
  );
}

/** A connection that failed, with the reason that fetch hides in its cause. */
function lost(error: unknown, begun: boolean): ExchangeError {
  const root = rootOf(error);
  const { code, message } = (root ?? {}) as { code?: unknown; message?: unknown };
  if (code === "UND_ERR_HEADERS_OVERFLOW")
    return new ExchangeError("large", begun, "the answer's headers have more than 16 KB", error);
  const reason = [code, message].filter((part) => typeof part === "string" && part !== "");
  return new ExchangeError("connection", begun, reason.join(" ") || String(root), error);
}

/** fetch says "fetch failed" and why in its cause, which may hold several reasons in one. */
function rootOf(error: unknown): unknown {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof AggregateError ? cause.errors[0] : cause;
}

function sizeText(bytes: number): string {
  return bytes < 1024 * 1024 ? `${bytes} bytes` : `${+(bytes / 1024 / 1024).toFixed(1)} MB`;
}
