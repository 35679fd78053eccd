/**
 * @file The gateway over HTTP, on the one kind of server that we have (src/network).
 */
import { type OpenServer, openServer, type ServerOptions } from "../../network/index.ts";
import type { Gateway } from "../gateway.ts";
import { gatewayApp } from "./app.ts";

export interface GatewayServerOptions {
  /** Default 127.0.0.1: only this machine. */
  readonly host?: string | undefined;
  /** Default 0: any that is free. */
  readonly port?: number | undefined;
  /** Further names by which it may be asked. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Clients must bring one of these. Default: none is needed. */
  readonly keys?: readonly string[] | undefined;
  /** Only programs that were given a session may ask. Default false. */
  readonly sessionsOnly?: boolean | undefined;
  /** Bytes of a request at most. Default 8 MiB. */
  readonly largestBody?: number | undefined;
  /** Seconds until an answer begins. Default 660: a reply's time, and some. */
  readonly answerSeconds?: number | undefined;
  /** Is told, in sentences, what the person who starts it should know. */
  readonly say?: ((sentence: string) => void) | undefined;
}

export function serveGateway(
  gateway: Gateway,
  options: GatewayServerOptions = {},
): Promise<OpenServer> {
  const { keys = [], sessionsOnly = false, say } = options;
  const app = gatewayApp(gateway, { keys, sessionsOnly });
  return openServer({
    ...gatewayServer(options),
    handler: (request) => app.fetch(request),
    // Keys are checked here, because they may have a session's name behind them.
    ...(keys.length === 0 && !sessionsOnly && { say }),
  });
}

/** Where it listens, what a request may cost, and how it says no. */
export function gatewayServer(options: GatewayServerOptions): Omit<ServerOptions, "handler"> {
  const { host, port, allowedHosts, largestBody = 8 * 2 ** 20, answerSeconds = 660 } = options;
  return {
    ...{ host, port, allowedHosts, largestBody, answerSeconds },
    largestBodies: Math.max(64 * 2 ** 20, 2 * largestBody),
    refusalBody: (_, sentence) => ({
      error: { message: sentence, type: "invalid_request_error", param: null, code: null },
    }),
  };
}
