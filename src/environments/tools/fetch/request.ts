/**
 * @file Gets a page: http and https only, with limits of size, time and redirects, and not from
 * forbidden addresses. The address that was checked is the address that is connected to.
 */
import { lookup as resolve } from "node:dns";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";

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
  const clock = AbortSignal.timeout(limits.time);
  const stop = signal ? AbortSignal.any([clock, signal]) : clock;
  let url = checkedUrl(address, limits);
  try {
    for (let hops = 0; ; hops++) {
      const response = await connect(url, limits, stop);
      const { statusCode: status = 0, headers } = response;
      if (status >= 300 && status < 400 && headers.location !== undefined) {
        response.destroy();
        if (hops >= limits.redirects)
          throw new Error(`it redirects more than ${limits.redirects} times`);
        const target = URL.canParse(headers.location, url.href)
          ? new URL(headers.location, url)
          : null;
        if (!target) throw new Error("it redirects to something that is no address");
        url = checkedUrl(target.href, limits);
        continue;
      }
      const type = headers["content-type"] ?? "text/plain";
      if (!/^(text\/|application\/(json|xml|xhtml|[\w.]+\+(json|xml)))/i.test(type)) {
        response.destroy();
        throw new Error(`it is ${type.slice(0, 100)}; only texts can be shown`);
      }
      const { body, isCut } = await bodyOf(response, type, limits.size, stop);
      return { url: url.href, status, type, body, isCut };
    }
  } catch (error) {
    if (clock.aborted && !signal?.aborted)
      throw new Error(`it did not answer within ${limits.time / 1000} s`);
    throw error;
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

function connect(url: URL, limits: FetchLimits, signal: AbortSignal): Promise<IncomingMessage> {
  const request = url.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
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
}

async function bodyOf(
  response: IncomingMessage,
  type: string,
  size: number,
  signal: AbortSignal,
): Promise<{ body: string; isCut: boolean }> {
  const unpacked = unpacker(response.headers["content-encoding"]);
  const stream = unpacked ? response.pipe(unpacked) : response;
  if (unpacked) response.on("error", (error) => unpacked.destroy(error));
  const stop = (): void => {
    response.destroy();
    stream.destroy(new Error("stopped"));
  };
  signal.addEventListener("abort", stop, { once: true });
  const pieces: Buffer[] = [];
  let length = 0;
  let isCut = false;
  try {
    for await (const piece of stream as AsyncIterable<Buffer>) {
      pieces.push(piece.subarray(0, size - length));
      length += piece.length;
      if (length <= size) continue;
      isCut = true;
      break;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    response.destroy();
    stream.destroy();
  }
  return { body: decoded(Buffer.concat(pieces), type), isCut };
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
