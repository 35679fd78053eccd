/**
 * @file From Node's request to the web's: a Request whose body can be read once, as it comes, up to its
 * largest size, and whose signal aborts when the client goes away.
 */
import type { IncomingMessage } from "node:http";
import { ReadableStream } from "node:stream/web";

export interface BodyLimits {
  /** Is told of every piece; false: it is too much, and nothing more is read. */
  take(bytes: number): boolean;
}

/** Throws what the web's classes throw about addresses and headers that they do not take. */
export function webRequest(
  incoming: IncomingMessage,
  signal: AbortSignal,
  limits: BodyLimits,
): Request {
  const { method = "GET", url = "/", headers } = incoming;
  // By hand: two slashes at the beginning would be taken for the name of a host.
  const address = new URL(`http://${headers.host}${url}`);
  const given = new Headers();
  for (let i = 0; i < incoming.rawHeaders.length; i += 2)
    given.append(incoming.rawHeaders[i]!, incoming.rawHeaders[i + 1]!);
  if (method === "GET" || method === "HEAD")
    return new Request(address, { method, headers: given, signal });
  return new Request(address, {
    ...{ method, headers: given, signal, duplex: "half" },
    body: bodyOf(incoming, limits) as unknown as NonNullable<RequestInit["body"]>,
  } as RequestInit);
}

function bodyOf(incoming: IncomingMessage, limits: BodyLimits): ReadableStream<Uint8Array> {
  let isOver = false;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      const end = (finish: () => void) => {
        if (isOver) return;
        isOver = true;
        finish();
      };
      incoming.on("data", (piece: Buffer) => {
        if (isOver) return;
        if (!limits.take(piece.length)) {
          incoming.pause();
          return end(() => controller.error(new RangeError("the body is too large")));
        }
        controller.enqueue(new Uint8Array(piece));
        if ((controller.desiredSize ?? 0) <= 0) incoming.pause();
      });
      incoming.once("end", () => end(() => controller.close()));
      const broken = () => end(() => controller.error(new Error("the body broke off")));
      incoming.once("error", broken);
      incoming.once("close", broken);
      incoming.pause();
    },
    pull: () => void incoming.resume(),
    cancel() {
      isOver = true;
    },
  });
}
