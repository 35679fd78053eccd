/**
 * @file The other end of a web socket of somebody's: one question and its answer at a time, each with a deadline,
 * messages with a largest size, no redirect followed.
 */
import { WebSocket } from "ws";
import { ExchangeError, type FailureKind } from "./exchange.ts";

export interface SocketRequest {
  /** ws://… or wss://… */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Ends the connection, and whatever is waited for, with its reason. */
  readonly signal?: AbortSignal | undefined;
  readonly limits: {
    /** Milliseconds to connect, and for an answer. */
    readonly time: number;
    /** Bytes of a message. */
    readonly size: number;
  };
}

export interface Conversation {
  /** The next message that comes. Fails with an ExchangeError when none does. */
  ask(text: string): Promise<string>;
  readonly isOpen: boolean;
  /** Says this, if anything, and ends the connection. */
  close(farewell?: string): void;
}

/** Messages that nobody asked for: more are no conversation. */
const MOST_UNASKED = 100;

function broken(kind: FailureKind, message: string, cause?: unknown): ExchangeError {
  return new ExchangeError(kind, true, message, cause);
}

export async function openSocket({
  url,
  headers,
  signal,
  limits,
}: SocketRequest): Promise<Conversation> {
  signal?.throwIfAborted();
  const socket = new WebSocket(url, {
    ...{ headers: { ...headers }, handshakeTimeout: limits.time, maxPayload: limits.size },
    ...{ perMessageDeflate: false, followRedirects: false },
  });
  /** Why there will be no more messages. */
  let failure: Error | undefined;
  const unread: string[] = [];
  let wake = (): void => {};
  const fail = (error: Error): void => {
    failure ??= error;
    wake();
    socket.terminate();
  };
  const onAbort = (): void =>
    fail(signal!.reason instanceof Error ? signal!.reason : new Error(String(signal!.reason)));
  signal?.addEventListener("abort", onAbort);
  socket.on("message", (data, isBinary) => {
    if (isBinary) fail(broken("connection", "it sent bytes where texts are expected"));
    else if (unread.length >= MOST_UNASKED) fail(broken("large", "it sends what nobody asked for"));
    else {
      unread.push(String(data));
      wake();
    }
  });
  socket.on("error", (error: NodeJS.ErrnoException) =>
    fail(
      broken(
        error.code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH" ? "large" : "connection",
        error.message,
        error,
      ),
    ),
  );
  socket.on("close", (code) => {
    signal?.removeEventListener("abort", onAbort);
    fail(broken("connection", `it closed the connection (${code})`));
  });
  await new Promise<void>((resolve) => {
    wake = resolve;
    socket.once("open", resolve);
  });
  if (failure) throw failure;
  return {
    async ask(text) {
      if (failure) throw failure;
      unread.length = 0;
      socket.send(text);
      let clock: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        wake = resolve;
        clock = setTimeout(
          () => fail(broken("late", `no answer within ${limits.time / 1000} s`)),
          limits.time,
        );
      });
      clearTimeout(clock);
      const answer = unread.shift();
      if (answer !== undefined) return answer;
      throw failure!;
    },
    get isOpen() {
      return failure === undefined;
    },
    close(farewell) {
      if (farewell !== undefined && !failure) socket.send(farewell);
      failure ??= broken("connection", "it was closed");
      socket.close();
      // Who does not answer the farewell is not waited for.
      setTimeout(() => socket.terminate(), 1000).unref();
    },
  };
}
