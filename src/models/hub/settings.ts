/**
 * @file Where the Hub is, where its cache is, and who asks: the variables that Python's huggingface_hub knows, so
 * that both find the same.
 */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { keyAt, oneLine } from "../../network/index.ts";
import { withoutCredentials } from "../../spelling/index.ts";
import { HubError } from "./errors.ts";

export type HubVariables = Readonly<Record<string, string | undefined>>;

export interface HubSettings {
  /** Without a slash at its end. */
  readonly endpoint: URL;
  readonly token: string | undefined;
}

const ENDPOINT = "https://huggingface.co";

export function hubSettings(variables: HubVariables): HubSettings {
  const endpoint = endpointIn(variables);
  const token = tokenIn(variables);
  const isOpen = endpoint.protocol === "http:" && !isThisMachine(endpoint.hostname);
  if (isOpen && token !== undefined)
    throw new HubError(
      "wrong",
      `HF_ENDPOINT is ${shownEndpoint(endpoint)}, on the way to which everybody could read your token. ` +
        "Give an address with https://, or go without a token (unset HF_TOKEN, and HF_HOME=FOLDER without one).",
    );
  return { endpoint, token };
}

export function shownEndpoint(endpoint: URL): string {
  return endpoint.href.replace(/\/$/, "");
}

function endpointIn(variables: HubVariables): URL {
  const given = variables.HF_ENDPOINT || ENDPOINT;
  const endpoint = URL.canParse(given) ? new URL(given) : undefined;
  const isPlain = endpoint && !endpoint.username && !endpoint.password && !endpoint.search;
  if (isPlain && /^https?:$/.test(endpoint.protocol)) {
    endpoint.pathname = endpoint.pathname.replace(/\/+$/, "");
    endpoint.hash = "";
    return endpoint;
  }
  throw new HubError(
    "wrong",
    `HF_ENDPOINT is "${oneLine(withoutCredentials(given))}", expected an address such as ${ENDPOINT}, ` +
      "without a name or a password in it.",
  );
}

function isThisMachine(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127(?:\.\d+){3}$/.test(host);
}

/** From a variable or a file, and from nowhere else: command lines and settings are seen by others. */
function tokenIn(variables: HubVariables): string | undefined {
  if (variables.HF_TOKEN) return keyAt("the Hub's token", "env:HF_TOKEN", variables);
  const file = atHome(variables.HF_TOKEN_PATH) ?? join(hubHome(variables), "token");
  return existsSync(file) ? keyAt("the Hub's token", `file:${file}`, variables) : undefined;
}

export function isOffline({ HF_HUB_OFFLINE: value = "" }: HubVariables): boolean {
  return ["1", "ON", "YES", "TRUE"].includes(value.toUpperCase());
}

export function cacheFolder(variables: HubVariables): string {
  return (
    atHome(variables.HF_HUB_CACHE) ??
    atHome(variables.HUGGINGFACE_HUB_CACHE) ??
    join(hubHome(variables), "hub")
  );
}

function hubHome(variables: HubVariables): string {
  const caches = atHome(variables.XDG_CACHE_HOME) ?? join(homedir(), ".cache");
  return atHome(variables.HF_HOME) ?? join(caches, "huggingface");
}

/** `~` is the shell's, but not in a file of variables. Undefined where nothing is set. */
function atHome(path: string | undefined): string | undefined {
  return path?.replace(/^~(?=\/|$)/, homedir()) || undefined;
}
