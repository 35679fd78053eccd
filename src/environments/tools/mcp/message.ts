/**
 * @file JSON-RPC messages of the Model Context Protocol, as far as a client of tools needs them.
 *
 * The client is our own: the official SDK brings 94 packages, and this is four requests. Tests hold it
 * against the SDK's server.
 */

export const PROTOCOL_VERSION = "2025-06-18";

export interface Request {
  readonly jsonrpc: "2.0";
  readonly id: number;
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

export interface Notification {
  readonly jsonrpc: "2.0";
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** What comes back, or comes unasked. */
export interface Incoming {
  readonly id?: number | string | null;
  readonly method?: string;
  readonly result?: unknown;
  readonly error?: { readonly code?: unknown; readonly message?: unknown } | null;
}

/** A way to a server. Requests reject when it is lost, late or lying. */
export interface Transport {
  readonly isOpen: boolean;
  request(request: Request, signal: AbortSignal): Promise<unknown>;
  notify(notification: Notification): Promise<void>;
  close(): void;
}

/** No honest message is longer. */
export const LARGEST_MESSAGE = 10_000_000;

/** Undefined for what is no message. */
export function readMessage(text: string): Incoming | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The result of a response, or its error thrown. Some servers send both, one of them null. */
export function resultOf({ result, error }: Incoming): unknown {
  if (error === undefined || error === null) return result;
  const message = typeof error.message === "string" ? error.message : JSON.stringify(error);
  throw new Error(`the server reports: ${message.slice(0, 1000)}`);
}

/** What a client of tools answers to requests of the server's own. */
export function replyTo({ id, method }: Incoming): object {
  return method === "ping"
    ? { jsonrpc: "2.0", id, result: {} }
    : { jsonrpc: "2.0", id, error: { code: -32601, message: "this client offers only tools" } };
}
