/**
 * @file From a request to its answer: routes, bodies, and errors in the style of the kind's own server.
 */
import type { IncomingMessage, RequestListener } from "node:http";
import type { Json } from "../../environment.ts";
import type { Kind } from "../kind.ts";
import { Refusal } from "./hosted.ts";
import { fieldsOf, InvalidRequest, type Route } from "./routes.ts";

/** A body has an action and two numbers. */
const LARGEST_BODY = 1024 * 1024;

class TooLarge extends Error {}

interface Reply {
  readonly status: number;
  readonly body: Json;
}

export function listener(kind: Kind, routes: ReadonlyMap<string, Route>): RequestListener {
  return async (request, response) => {
    const { status, body } = await replyTo(routes, request).catch((error: unknown) =>
      errorReply(kind, error),
    );
    const text = Buffer.from(JSON.stringify(body));
    response.writeHead(status, {
      "content-type": "application/json",
      "content-length": text.length,
      // What is left of a body that was too large will not be read.
      ...(status === 413 && { connection: "close" }),
    });
    response.end(text);
  };
}

async function replyTo(
  routes: ReadonlyMap<string, Route>,
  request: IncomingMessage,
): Promise<Reply> {
  const [path, query] = (request.url ?? "/").split("?", 2);
  const route = routes.get(path!.replace(/(?<=.)\/+$/, ""));
  if (!route) return { status: 404, body: { detail: "Not Found" } };
  if (request.method !== route.method)
    return { status: 405, body: { detail: "Method Not Allowed" } };
  const given =
    route.method === "GET"
      ? Object.fromEntries(new URLSearchParams(query))
      : fieldsOf(await bodyOf(request));
  return { status: 200, body: await route.answer(given) };
}

function errorReply(kind: Kind, error: unknown): Reply {
  if (error instanceof InvalidRequest) return { status: 422, body: { detail: error.detail } };
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof Refusal && error.busy) return { status: 503, body: { detail: message } };
  if (error instanceof TooLarge) return { status: 413, body: { detail: message } };
  return kind.errors === "body"
    ? { status: 200, body: { error: message } }
    : { status: 500, body: { detail: message } };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > LARGEST_BODY)
      throw new TooLarge(`the body has more than ${LARGEST_BODY / 1024 / 1024} MB.`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}
