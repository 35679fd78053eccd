/**
 * @file The gateway's paths. Every path is there twice: as it is, and behind /s/SESSION.
 */
import { type Context, Hono } from "hono";
import { GatewayError } from "../errors.ts";
import type { Gateway } from "../gateway.ts";
import { chatCompletions } from "../protocols/chat.ts";
import { completions } from "../protocols/completions.ts";
import { anthropicMessages, countTokens } from "../protocols/messages.ts";
import { anthropicError, openaiError, type Refused } from "../protocols/refusal.ts";
import { responses } from "../protocols/responses.ts";
import { type CallerRules, callerOf, sessionOf } from "./callers.ts";
import { endSession, rewardSession, showSession } from "./sessions.ts";

export function gatewayApp(gateway: Gateway, rules: CallerRules): Hono {
  const app = new Hono();
  const begun = Math.floor(Date.now() / 1000);

  /** Registers a path, with and without a session in front, and counts what comes of it. */
  const on = (
    method: "GET" | "POST" | "DELETE",
    path: string,
    handler: (context: Context, prefix: string | undefined) => Promise<Response> | Response,
  ) => {
    const handle = async (context: Context) => {
      const answer = await answered(path, () => handler(context, context.req.param("session")));
      gateway.metrics.request(path, answer.status);
      return answer;
    };
    app.on(method, path, handle);
    app.on(method, `/s/:session${path}`, handle);
  };
  const caller = (context: Context, prefix: string | undefined) =>
    callerOf(gateway, rules, context.req.raw.headers, prefix);

  app.get("/health", () => Response.json({ status: "ok", model: gateway.model }));
  on("GET", "/metrics", (context, prefix) => {
    caller(context, prefix);
    return new Response(gateway.metrics.text(gateway.sessions), {
      headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
    });
  });
  const model = {
    ...{ id: gateway.model, object: "model", created: begun, owned_by: "openmanus-rl" },
    max_model_len: gateway.contextLength,
  };
  on("GET", "/v1/models", (context, prefix) => {
    caller(context, prefix);
    return Response.json({ object: "list", data: [model] });
  });
  on("GET", "/v1/models/:model{.+}", (context, prefix) => {
    caller(context, prefix);
    if (context.req.param("model") === gateway.model) return Response.json(model);
    throw new GatewayError("not_found", `there is one model here, ${gateway.model}.`);
  });
  on("POST", "/v1/chat/completions", (context, prefix) =>
    chatCompletions(gateway, sessionOf(gateway, caller(context, prefix)), context.req.raw),
  );
  on("POST", "/v1/responses", (context, prefix) =>
    responses(gateway, sessionOf(gateway, caller(context, prefix)), context.req.raw),
  );
  on("POST", "/v1/messages", (context, prefix) =>
    anthropicMessages(gateway, sessionOf(gateway, caller(context, prefix)), context.req.raw),
  );
  on("POST", "/v1/messages/count_tokens", (context, prefix) => {
    caller(context, prefix);
    return countTokens(gateway, context.req.raw);
  });
  on("POST", "/v1/completions", (context, prefix) => {
    if (caller(context, prefix).opened)
      throw new GatewayError(
        "invalid_request",
        "a session records chats: use /v1/chat/completions.",
      );
    return completions(gateway, context.req.raw);
  });
  on("GET", "/v1/sessions/:id", (context, prefix) =>
    showSession(gateway, caller(context, prefix), context.req.param("id")!),
  );
  on("POST", "/v1/sessions/:id/reward", (context, prefix) =>
    rewardSession(gateway, caller(context, prefix), context.req.param("id")!, context.req.raw),
  );
  on("DELETE", "/v1/sessions/:id", (context, prefix) =>
    endSession(gateway, caller(context, prefix), context.req.param("id")!),
  );
  app.notFound(() =>
    refuse(openaiError(new GatewayError("not_found", "there is nothing at this path."))),
  );
  app.onError((error) => refuse(openaiError(error)));
  return app;
}

async function answered(
  path: string,
  handle: () => Promise<Response> | Response,
): Promise<Response> {
  try {
    return await handle();
  } catch (error) {
    return refusalAt(path, error);
  }
}

/** In the form that clients of this path know. */
export function refusalAt(path: string, error: unknown): Response {
  return refuse(path.startsWith("/v1/messages") ? anthropicError(error) : openaiError(error));
}

function refuse({ status, body }: Refused): Response {
  return Response.json(body, {
    status,
    ...(status === 429 && { headers: { "retry-after": "1" } }),
  });
}
