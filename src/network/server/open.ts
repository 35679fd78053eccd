/**
 * @file A server of ours on HTTP: it binds 127.0.0.1 unless told otherwise, lets in only whom the gate
 * lets in, and nothing that is sent to it may take it down, hold it for ever or fill its memory.
 *
 * What it serves is a function from the web's Request to its Response, streams included.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { NetworkError } from "../errors.ts";
import { requireKey } from "../keys.ts";
import type { GateRules } from "./gate.ts";
import { hostRule, isLoopback } from "./hosts.ts";
import { listenerOf } from "./listener.ts";
import { answerMalformed } from "./refuse.ts";
import { type SocketOptions, serveSockets } from "./sockets.ts";

/** `request.signal` aborts when the client goes away or the answer takes too long. */
export type Handler = (request: Request) => Response | Promise<Response>;

export interface ServerOptions {
  readonly handler: Handler;
  /** Web sockets, where it has some. */
  readonly sockets?: SocketOptions | undefined;
  /** Default 127.0.0.1: only this machine. */
  readonly host?: string | undefined;
  /** Default 0: any that is free. */
  readonly port?: number | undefined;
  /** Further names by which the server may be asked: "proxy.example", "localhost:8080". */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Origins of pages elsewhere that may use it: "https://board.example". Default: none. */
  readonly allowedOrigins?: readonly string[] | undefined;
  /** Every request must bring it, as "Authorization: Bearer …". Default: none is needed. */
  readonly apiKey?: string | undefined;
  /** Bytes of a request's body. Default 1 MiB. */
  readonly largestBody?: number;
  /** Bytes of all bodies that are held at once. Default 64 MiB. */
  readonly largestBodies?: number;
  /** Seconds for a request's headers, and for headers and body. Default 10 and 30. */
  readonly headerSeconds?: number;
  readonly bodySeconds?: number;
  /** Seconds until the handler's answer begins. Default 300. */
  readonly answerSeconds?: number;
  /** Seconds in which a client must take something of its answer. Default 60. */
  readonly stallSeconds?: number;
  /** How many connections there may be at once; others are closed. Default 2048. */
  readonly maximumConnections?: number;
  /** How many requests are carried out at once; others get 503. Default 1024. */
  readonly maximumRequests?: number;
  /** The body of an answer that says no, to be sent as JSON. Default: {"detail": sentence}. */
  readonly refusalBody?: (status: number, sentence: string) => unknown;
  /** Default true: a process goes on while it listens. False: only what somebody waits for keeps the process. */
  readonly keepsProcess?: boolean;
  /** Is told, in sentences, what the person who starts it should know. */
  readonly say?: ((sentence: string) => void) | undefined;
}

export interface OpenServer {
  /** http://address:port */
  readonly url: string;
  readonly port: number;
  /** Stops listening and breaks connections. */
  close(): Promise<void>;
}

/** Bytes of a request's headers. */
const LARGEST_HEADERS = 16 * 1024;

export async function openServer(options: ServerOptions): Promise<OpenServer> {
  const { host = "127.0.0.1", port = 0, headerSeconds = 10, bodySeconds = 30 } = options;
  const { allowedHosts = [], allowedOrigins = [], apiKey, largestBody = 2 ** 20 } = options;
  if (!(Number.isInteger(port) && port >= 0 && port <= 65_535))
    throw new NetworkError(`the port must be a whole number from 0 to 65535, not ${port}.`);
  for (const name of SECONDS) requireNumber(name, options[name], LONGEST);
  for (const name of [...BYTES, ...COUNTS])
    requireNumber(name, options[name], Number.MAX_SAFE_INTEGER);
  for (const origin of allowedOrigins) requireOrigin(origin);
  if (apiKey !== undefined) requireKey(apiKey, "apiKey");
  /** Nobody, until the port is known that the Host header must have. */
  let isOwnHost: GateRules["isOwnHost"] = () => false;
  const rules: GateRules = {
    ...{ allowedOrigins, apiKey, largestBody },
    isOwnHost: (header) => isOwnHost(header),
  };
  const listener = listenerOf(options, rules);
  const server = createServer(
    {
      maxHeaderSize: LARGEST_HEADERS,
      headersTimeout: Math.min(headerSeconds, bodySeconds) * 1000,
      requestTimeout: bodySeconds * 1000,
      connectionsCheckingInterval: Math.min(1000, (headerSeconds * 1000) / 4),
      // A request without it is refused by the gate, with a sentence.
      requireHostHeader: false,
    },
    listener,
  );
  server.maxConnections = options.maximumConnections ?? 2048;
  // The gate first: only a request that may pass is told to send its body.
  server.on("checkContinue", listener);
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) =>
    answerMalformed(options, error, socket),
  );
  if (options.keepsProcess === false) {
    server.unref();
    server.on("connection", (socket: Socket) => socket.unref());
  }
  const endSockets = options.sockets && serveSockets(server, options.sockets, rules);
  const bound = await listening(server, host, port);
  try {
    isOwnHost = hostRule({ host, ...bound }, allowedHosts);
  } catch (error) {
    server.close();
    throw error;
  }
  if (!isLoopback(bound.address) && apiKey === undefined)
    options.say?.(
      `other machines can reach ${host}:${bound.port}, and no key is asked for: whoever reaches it can use it.`,
    );
  const name = bound.address.includes(":") ? `[${bound.address}]` : bound.address;
  return {
    url: `http://${name}:${bound.port}`,
    port: bound.port,
    async close() {
      const stopped = new Promise((resolve) => server.close(resolve));
      endSockets?.();
      server.closeAllConnections();
      await stopped;
    },
  };
}

const SECONDS = ["headerSeconds", "bodySeconds", "answerSeconds", "stallSeconds"] as const;
const BYTES = ["largestBody", "largestBodies"] as const;
const COUNTS = ["maximumConnections", "maximumRequests"] as const;
/** Node's timers take milliseconds of 31 bits, and call back at once for more. */
const LONGEST = 2_147_483;

function requireNumber(name: string, value: number | undefined, most: number): void {
  if (value === undefined || (value > 0 && value <= most)) return;
  throw new NetworkError(`${name} must be a number above 0, up to ${most}, not ${value}.`);
}

function requireOrigin(origin: string): void {
  if (URL.canParse(origin) && new URL(origin).origin === origin) return;
  throw new NetworkError(
    `"${origin}" is no origin; an allowed origin is like https://board.example.`,
  );
}

async function listening(
  server: Server,
  host: string,
  port: number,
): Promise<{ address: string; port: number }> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(new NetworkError(`cannot listen on ${host}:${port}: ${listenProblem(error)}.`)),
    );
    server.listen(port, host, resolve);
  });
  // What goes wrong from now on concerns one connection, and must not end the process.
  server.on("error", () => {});
  return server.address() as AddressInfo;
}

function listenProblem({ code, message }: NodeJS.ErrnoException): string {
  if (code === "EADDRINUSE") return "the port is taken; choose another, or 0 for any";
  if (code === "EACCES") return "this user may not use the port; choose one above 1023";
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") return "this machine has no such address";
  return message;
}
