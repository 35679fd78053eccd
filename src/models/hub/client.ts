/**
 * @file Requests to the Hub. The token goes to the Hub's own host and nowhere else; redirects are followed for
 * what is only read, never from https to http; what may help is tried again, after a pause.
 */
import { setTimeout as wait } from "node:timers/promises";
import {
  type Answer,
  ExchangeError,
  type ExchangeLimits,
  exchange,
  oneLine,
} from "../../network/index.ts";
import { HubError, hiding } from "./errors.ts";
import { refusal } from "./refusal.ts";
import { type HubSettings, shownEndpoint } from "./settings.ts";

/** What the Hub may cost. All times are milliseconds. */
export interface HubLimits {
  /** How often the same is asked for. */
  readonly attempts: number;
  /** Before it is asked for again: twice as long each time, or as long as the Hub says, up to `longestPause`. */
  readonly pause: number;
  readonly longestPause: number;
  /** For an answer that is no file. */
  readonly time: number;
  /** Without a byte. */
  readonly silence: number;
  /** A file must bring this many bytes in each such time. */
  readonly slowest: { readonly bytes: number; readonly time: number };
}

export const USUAL_LIMITS: HubLimits = {
  attempts: 5,
  pause: 1000,
  longestPause: 60_000,
  time: 60_000,
  silence: 30_000,
  slowest: { bytes: 2 ** 16, time: 60_000 },
};

export interface Hub extends HubSettings {
  readonly limits: HubLimits;
  readonly signal: AbortSignal | undefined;
}

export interface HubRequest {
  /** Of the endpoint, from its slash on, or a whole address that the Hub gave. */
  readonly path: string;
  /** What is asked for, for sentences: `org/name`. */
  readonly subject: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Blob;
  readonly limits: ExchangeLimits;
  /** It goes where files are kept: the token does not, whoever's host that is. */
  readonly isStore?: boolean;
  /** Statuses that are read, too, besides those of success. */
  readonly accepts?: readonly number[];
  /** What the Hub's own host says of a file before it sends the reader elsewhere. */
  readonly onRedirect?: (headers: Headers) => void;
}

const MOST_REDIRECTS = 5;

/** Sends one request and reads its answer, whose status is 2xx. */
export async function ask<Result>(
  hub: Hub,
  request: HubRequest,
  read: (answer: Answer, isHub: boolean) => Result | Promise<Result>,
): Promise<Result> {
  const deadline = performance.now() + request.limits.time;
  let url = new URL(request.path, `${shownEndpoint(hub.endpoint)}/`);
  // Once it has led elsewhere, the token stays at home: also if it leads back.
  let isHub = !request.isStore && url.origin === hub.endpoint.origin;
  for (let hops = 0; ; hops++) {
    const time = Math.ceil(Math.max(1, deadline - performance.now()));
    const step = { ...request, url, isHub, limits: { ...request.limits, time } };
    const found = await oneHop(hub, step, read);
    if ("value" in found) return found.value;
    if (hops >= MOST_REDIRECTS)
      throw new HubError(
        "wrong",
        `${request.subject}: ${shownEndpoint(hub.endpoint)} redirects more than ${MOST_REDIRECTS} times.`,
      );
    url = redirected(request, url, found.to);
    isHub &&= url.origin === hub.endpoint.origin;
  }
}

async function oneHop<Result>(
  hub: Hub,
  request: HubRequest & { url: URL; isHub: boolean },
  read: (answer: Answer, isHub: boolean) => Result | Promise<Result>,
): Promise<{ value: Result } | { to: string }> {
  const { url, isHub, method = "GET", body, limits, subject } = request;
  const headers = {
    "user-agent": "openmanus-rl",
    // Compression on the way would make sizes and ranges mean something else.
    "accept-encoding": "identity",
    ...request.headers,
    ...(isHub && hub.token !== undefined && { authorization: `Bearer ${hub.token}` }),
  };
  try {
    return await exchange(
      { url, method, headers, limits, signal: hub.signal, ...(body !== undefined && { body }) },
      async (answer) => {
        if (answer.redirect !== null) {
          if (isHub) request.onRedirect?.(answer.headers);
          return { to: answer.redirect };
        }
        if (!answer.ok && !request.accepts?.includes(answer.status))
          throw await refusal(hub, subject, answer, isHub);
        return { value: await read(answer, isHub) };
      },
    );
  } catch (error) {
    throw hiding(explained(hub, subject, url, error), hub.token);
  }
}

function explained(hub: Hub, subject: string, url: URL, error: unknown): unknown {
  if (!(error instanceof ExchangeError)) return error;
  const place = url.origin === hub.endpoint.origin ? shownEndpoint(hub.endpoint) : url.origin;
  if (error.kind === "large")
    return new HubError("wrong", `${subject}: ${place}: ${oneLine(error.message)}.`);
  return new HubError(
    "unreachable",
    `${subject}: ${place} cannot be reached (${oneLine(error.message)}). Is the network there? ` +
      "Run the command again; it goes on where it stopped.",
    { cause: error },
  );
}

/** What is sent goes only where we said; what is only read may be elsewhere, but nobody is to listen. */
function redirected({ method = "GET", subject }: HubRequest, from: URL, to: string): URL {
  const target = URL.canParse(to, from.href) ? new URL(to, from) : undefined;
  const allowed = from.protocol === "https:" ? ["https:"] : ["https:", "http:"];
  if (method === "GET" && target && allowed.includes(target.protocol)) return target;
  throw new HubError(
    "wrong",
    `${subject}: ${from.origin} redirects to ${oneLine(to)}, which is not followed` +
      (method === "GET"
        ? "."
        : " with what is to be sent. Was the model renamed? Give its new name."),
  );
}

/** Does the work, and again after a pause where the Hub could not be reached or asked to wait. */
export async function patiently<Result>(hub: Hub, work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      hub.signal?.throwIfAborted();
      if (!(error instanceof HubError) || error.kind !== "unreachable") throw error;
      if (attempt >= hub.limits.attempts) throw error;
      await pause(hub, attempt, error.wait);
    }
  }
}

export async function pause(hub: Hub, attempt: number, asked?: number): Promise<void> {
  const usual = hub.limits.pause * 2 ** (attempt - 1);
  const time = Math.min(Math.max(usual, asked ?? 0), hub.limits.longestPause);
  try {
    await wait(time, undefined, { signal: hub.signal });
  } catch {
    hub.signal?.throwIfAborted();
  }
}

/** A JSON answer, however deep or strange: whoever reads it checks every part. */
export async function askForJson(
  hub: Hub,
  request: Omit<HubRequest, "limits"> & { largest: number },
): Promise<{ json: unknown; headers: Headers }> {
  const { largest, ...rest } = request;
  const limits = { time: hub.limits.time, silence: hub.limits.silence, size: largest };
  return patiently(hub, () =>
    ask(hub, { ...rest, limits }, async (answer) => {
      const text = await answer.text();
      try {
        return { json: JSON.parse(text) as unknown, headers: answer.headers };
      } catch {
        throw new HubError(
          "wrong",
          `${request.subject}: ${shownEndpoint(hub.endpoint)} answered with something that is not JSON: ` +
            `"${oneLine(text, 100)}". Is HF_ENDPOINT the address of a hub?`,
        );
      }
    }),
  );
}
