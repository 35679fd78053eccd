/**
 * @file Who may ask a server of ours, and how. A browser sends requests for any page that it shows, so
 * being asked from this machine says nothing about who asks: the server must be named by its own name,
 * the page must be its own, and what changes something must be JSON, which no page may send elsewhere
 * without asking first.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** Why a request is not carried out. */
export interface Refusal {
  readonly status: number;
  readonly sentence: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface GateRules {
  readonly isOwnHost: (header: string) => boolean;
  /** Origins of other pages that may ask. */
  readonly allowedOrigins: readonly string[];
  readonly apiKey: string | undefined;
  /** Bytes. */
  readonly largestBody: number;
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const WITH_BODY = ["POST", "PUT", "PATCH", "DELETE"];
/** Of these a second one is an attempt to be read in two ways. */
const SINGLE = ["host", "origin", "content-type", "authorization", "sec-fetch-site"];

/** Undefined: it may pass. */
export function refusalOf(request: IncomingMessage, rules: GateRules): Refusal | undefined {
  const { method = "", url = "", headers } = request;
  if (!METHODS.includes(method))
    return refused(501, `there is no method ${method.slice(0, 20)} here.`);
  const twice = SINGLE.find((name) => (request.headersDistinct[name]?.length ?? 0) > 1);
  if (twice !== undefined) return refused(400, `the header ${twice} is there more than once.`);
  const { host } = headers;
  if (host === undefined || !rules.isOwnHost(host))
    return refused(
      403,
      "the Host header does not name this server. Ask it by the address that it was started with, or " +
        "start it with this name among those that are allowed.",
    );
  if (!url.startsWith("/")) return refused(400, "the request's target must begin with a slash.");
  return (
    foreignPage(request, rules) ??
    (isPreflight(request) ? undefined : (withoutKey(request, rules) ?? wrongBody(request, rules)))
  );
}

/** A browser's question whether a page may send what it wants to send. */
export function isPreflight({ method, headers }: IncomingMessage): boolean {
  return (
    method === "OPTIONS" &&
    headers.origin !== undefined &&
    headers["access-control-request-method"] !== undefined
  );
}

/** Whether a page elsewhere asks, which has been allowed to. */
export function allowedOrigin(
  { headers: { origin } }: IncomingMessage,
  { allowedOrigins }: Pick<GateRules, "allowedOrigins">,
): string | undefined {
  return origin !== undefined && allowedOrigins.includes(origin) ? origin : undefined;
}

function foreignPage(request: IncomingMessage, rules: GateRules): Refusal | undefined {
  const { origin, host, "sec-fetch-site": site } = request.headers;
  if (allowedOrigin(request, rules) !== undefined) return undefined;
  const isForeign = origin !== undefined && origin !== `http://${host}`;
  return isForeign || site === "cross-site" || site === "same-site"
    ? refused(403, "a page of another origin may not use this server.")
    : undefined;
}

function withoutKey({ headers }: IncomingMessage, { apiKey }: GateRules): Refusal | undefined {
  if (apiKey === undefined) return undefined;
  const given = /^bearer +([\u0021-\u007e]+)$/i.exec(headers.authorization ?? "")?.[1];
  // Hashes are of one length, so that comparing them tells nothing of how much of a guess was right.
  const hash = (text: string) => createHash("sha256").update(text).digest();
  if (given !== undefined && timingSafeEqual(hash(given), hash(apiKey))) return undefined;
  return {
    ...refused(
      401,
      `this server needs its key, in a header Authorization: Bearer …; ${given === undefined ? "there is none" : "this is another"}.`,
    ),
    headers: { "www-authenticate": "Bearer" },
  };
}

function wrongBody(request: IncomingMessage, { largestBody }: GateRules): Refusal | undefined {
  const { method = "", headers } = request;
  const length = headers["content-length"];
  const hasBody = headers["transfer-encoding"] !== undefined || (length ?? "0") !== "0";
  if (!hasBody || !WITH_BODY.includes(method)) return undefined;
  if (!/^application\/json\s*(;|$)/i.test(headers["content-type"] ?? ""))
    return refused(
      415,
      "a body must be JSON, and say so in its header Content-Type: application/json.",
    );
  if (headers["content-encoding"] !== undefined && headers["content-encoding"] !== "identity")
    return refused(415, "a body must not be packed.");
  return Number(length ?? 0) > largestBody ? tooLarge(largestBody) : undefined;
}

export function tooLarge(largestBody: number): Refusal {
  const size =
    largestBody >= 2 ** 20 ? `${+(largestBody / 2 ** 20).toFixed(1)} MB` : `${largestBody} bytes`;
  return refused(413, `the body has more than ${size}.`);
}

function refused(status: number, sentence: string): Refusal {
  return { status, sentence };
}
