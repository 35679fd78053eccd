/**
 * @file From a request to its answer: routes, bodies, and errors in the style of the kind's own server.
 * Who may ask at all, and how much of it, is decided before (src/network).
 */
import type { Handler } from "../../../network/index.ts";
import type { Json } from "../../environment.ts";
import type { Kind } from "../kind.ts";
import { Refusal } from "./hosted.ts";
import { fieldsOf, InvalidRequest, type Route } from "./routes.ts";

interface Reply {
  readonly status: number;
  readonly body: Json;
}

export function handlerOf(kind: Kind, routes: ReadonlyMap<string, Route>): Handler {
  return async (request) => {
    const { status, body } = await replyTo(routes, request).catch((error: unknown) =>
      errorReply(kind, error),
    );
    const bytes = Buffer.from(JSON.stringify(body));
    return new Response(bytes, {
      status,
      headers: {
        "content-type": "application/json",
        "content-length": String(bytes.length),
        ...(status === 503 && { "retry-after": "1" }),
      },
    });
  };
}

async function replyTo(routes: ReadonlyMap<string, Route>, request: Request): Promise<Reply> {
  const { pathname, searchParams } = new URL(request.url);
  const route = routes.get(withoutLastSlashes(pathname));
  if (!route) return { status: 404, body: { detail: "Not Found" } };
  if (request.method !== route.method)
    return { status: 405, body: { detail: "Method Not Allowed" } };
  const given =
    route.method === "GET" ? Object.fromEntries(searchParams) : fieldsOf(await request.text());
  return { status: 200, body: await route.answer(given) };
}

/** By hand: a pattern would look at a long row of slashes once for each of them. */
function withoutLastSlashes(path: string): string {
  let end = path.length;
  while (end > 1 && path[end - 1] === "/") end--;
  return path.slice(0, end);
}

function errorReply(kind: Kind, error: unknown): Reply {
  if (error instanceof InvalidRequest) return { status: 422, body: { detail: error.detail } };
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof Refusal && error.busy) return { status: 503, body: { detail: message } };
  return kind.errors === "body"
    ? { status: 200, body: { error: message } }
    : { status: 500, body: { detail: message } };
}
