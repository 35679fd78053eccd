/**
 * @file Gets a page: http and https only, with limits of size, time and redirects, and not from
 * forbidden addresses. The address that was checked is the address that is connected to.
 */
import { lookup as resolve } from "node:dns";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { type Connected, ExchangeError, exchange, oneLine } from "../../../network/index.ts";

export interface FetchLimits {
  /** Milliseconds for all of it. */
  readonly time: number;
  /** Bytes of the page, unpacked. */
  readonly size: number;
  readonly redirects: number;
  /** Whether an address may not be connected to. */
  readonly isForbidden: (address: string) => boolean;
}

export interface Page {
  readonly url: string;
  readonly status: number;
  readonly type: string;
  readonly body: string;
  /** Whether more would have come. */
  readonly isCut: boolean;
}

export async function getPage(
  address: string,
  limits: FetchLimits,
  signal?: AbortSignal,
): Promise<Page> {
  const deadline = performance.now() + limits.time;
  let url = checkedUrl(address, limits);
  for (let hops = 0; ; hops++) {
    const found = await visit(url, limits, Math.max(1, deadline - performance.now()), signal);
    if (!("redirect" in found)) return found;
    if (hops >= limits.redirects)
      throw new Error(`it redirects more than ${limits.redirects} times`);
    const target = URL.canParse(found.redirect, url.href) ? new URL(found.redirect, url) : null;
    if (!target) throw new Error("it redirects to something that is no address");
    url = checkedUrl(target.href, limits);
  }
}

/** The page at an address, or where it leads. */
async function visit(
  url: URL,
  limits: FetchLimits,
  time: number,
  signal: AbortSignal | undefined,
): Promise<Page | { redirect: string }> {
  const asking = {
    ...{ url, signal, limits: { time, size: Infinity } },
    connect: (stop: AbortSignal) => connect(url, limits, stop),
  };
  try {
    return await exchange(asking, async ({ status, redirect, headers, beginning }) => {
      if (redirect !== null) return { redirect };
      const type = headers.get("content-type") ?? "text/plain";
      if (!/^(text\/|application\/(json|xml|xhtml|[\w.]+\+(json|xml)))/i.test(type))
        throw new Error(`it is ${oneLine(type, 100)}; only texts can be shown`);
      const { bytes, isCut } = await beginning(limits.size);
      return { url: url.href, status, type, body: decoded(bytes, type), isCut };
    });
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error;
    if (error.kind === "late") throw new Error(`it did not answer within ${limits.time / 1000} s`);
    throw new Error(oneLine(error.message), { cause: error });
  }
}

function checkedUrl(address: string, { isForbidden }: FetchLimits): URL {
  if (!URL.canParse(address)) throw new Error(`"${address.slice(0, 100)}" is no address`);
  const url = new URL(address);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new Error(`only http and https addresses can be fetched, not ${url.protocol}`);
  if (url.username !== "" || url.password !== "")
    throw new Error("addresses with a user's name and password are not fetched");
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0 && isForbidden(host)) throw notAllowed(host);
  return url;
}

function notAllowed(address: string): Error {
  return new Error(`${address} is a private address, which may not be fetched`);
}

/** Names are looked up here, once, so that no second lookup can say something else. */
function lookupFor({ isForbidden }: FetchLimits): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, "", 0);
      const allowed = addresses.filter(({ address }) => !isForbidden(address));
      const [first] = allowed;
      if (!first) return callback(notAllowed(hostname), "", 0);
      if (options.all) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}

async function connect(url: URL, limits: FetchLimits, signal: AbortSignal): Promise<Connected> {
  const request = url.protocol === "https:" ? httpsRequest : httpRequest;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(
      url,
      {
        method: "GET",
        headers: {
          "user-agent": "openmanus-rl",
          accept: "text/html, text/*, application/json;q=0.9",
          "accept-encoding": "gzip, br, deflate",
        },
        lookup: lookupFor(limits),
        // No connection is kept: the next page may be anywhere.
        agent: false,
        signal,
      },
      resolve,
    );
    sent.on("error", reject);
    sent.end();
  });
  const { statusCode: status = 0, statusMessage: statusText = "" } = response;
  const headers = new Headers();
  for (const name of ["content-type", "location"]) {
    const value = response.headers[name];
    if (typeof value === "string") headers.set(name, value);
  }
  return { status, statusText, headers, body: unpacked(response, signal) };
}

/** The body's bytes; it is destroyed with the exchange, whatever became of it. */
function unpacked(response: IncomingMessage, signal: AbortSignal): AsyncIterable<Uint8Array> {
  const unpack = unpacker(response.headers["content-encoding"]);
  const stream = unpack ? response.pipe(unpack) : response;
  if (unpack) response.on("error", (error) => unpack.destroy(error));
  // Nobody may be reading when it ends.
  stream.on("error", () => {});
  const stop = (): void => {
    response.destroy();
    stream.destroy(new Error("stopped"));
  };
  signal.addEventListener("abort", stop, { once: true });
  return stream;
}

function unpacker(encoding: string | undefined) {
  if (encoding === "gzip" || encoding === "x-gzip") return createGunzip();
  if (encoding === "br") return createBrotliDecompress();
  if (encoding === "deflate") return createInflate();
  return undefined;
}

function decoded(bytes: Buffer, type: string): string {
  const charset = /charset=["']?([\w-]+)/i.exec(type)?.[1] ?? "utf-8";
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}
