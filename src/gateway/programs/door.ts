/**
 * @file The one server at which the programs of all runs of this process ask, on this machine alone. It lives as long as the
 * process and does not keep it: a client of this process (fetch, and what stands on it) holds connections for every address
 * that it ever asked, until the process ends, so another address for every run would be a leak.
 *
 * Whose run it is, a session's secret says; without one nobody is answered.
 */
import type { Hono } from "hono";
import { type OpenServer, openServer } from "../../network/index.ts";
import { GatewayError } from "../errors.ts";
import type { Gateway } from "../gateway.ts";
import { gatewayApp, refusalAt } from "../http/app.ts";
import { keyIn, UNKNOWN_SESSION } from "../http/callers.ts";
import { gatewayServer } from "../http/serve.ts";

/** Runs that go on, each with its paths. */
const apps = new Map<Gateway, Hono>();
let server: Promise<OpenServer> | undefined;

export interface Door {
  /** http://address:port, the same for all. */
  readonly url: string;
  /** Nobody is let in to this run any more. What is still being answered ends with its session. */
  close(): void;
}

export async function openDoor(gateway: Gateway): Promise<Door> {
  server ??= openServer({ ...gatewayServer({}), handler: answer, keepsProcess: false });
  const opening = server;
  let url: string;
  try {
    ({ url } = await opening);
  } catch (error) {
    // Who comes next tries again.
    if (server === opening) server = undefined;
    throw error;
  }
  apps.set(gateway, gatewayApp(gateway, { keys: [], sessionsOnly: true }));
  return { url, close: () => void apps.delete(gateway) };
}

async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  const [, named, path = pathname] = /^\/s\/([^/]+)(\/.*)$/.exec(pathname) ?? [];
  const app = appOf(named) ?? appOf(keyIn(request.headers));
  return app
    ? await app.fetch(request)
    : refusalAt(path, new GatewayError("authentication", UNKNOWN_SESSION));
}

function appOf(secret: string | undefined): Hono | undefined {
  if (secret === undefined) return undefined;
  for (const [gateway, app] of apps) if (gateway.opened(secret)) return app;
  return undefined;
}
