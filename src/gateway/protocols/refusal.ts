/**
 * @file How each protocol says no. What went wrong inside is counted and told to nobody: a sentence is only for what
 * the client can do something about.
 */
import { GatewayError, type RefusalKind } from "../errors.ts";

export interface Refused {
  readonly status: number;
  readonly body: unknown;
}

const OPENAI: Readonly<Record<RefusalKind, string>> = {
  invalid_request: "invalid_request_error",
  context_length: "invalid_request_error",
  authentication: "authentication_error",
  not_found: "not_found_error",
  limit: "permission_error",
  busy: "rate_limit_error",
  late: "timeout_error",
  failure: "server_error",
};

const ANTHROPIC: Readonly<Record<RefusalKind, string>> = {
  ...OPENAI,
  busy: "overloaded_error",
  late: "api_error",
  failure: "api_error",
};

const CODES: Readonly<Partial<Record<RefusalKind, string>>> = {
  context_length: "context_length_exceeded",
  authentication: "invalid_api_key",
  limit: "session_limit",
};

export function openaiError(error: unknown): Refused {
  const { kind, message, field, status } = known(error);
  return {
    status,
    body: {
      error: { message, type: OPENAI[kind], param: field ?? null, code: CODES[kind] ?? null },
    },
  };
}

export function anthropicError(error: unknown): Refused {
  const { kind, message, status } = known(error);
  return { status, body: { type: "error", error: { type: ANTHROPIC[kind], message } } };
}

function known(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  return new GatewayError("failure", "the model failed; the server's log may say more.");
}
