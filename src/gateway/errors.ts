/**
 * @file What the gateway says no to, with the status that every protocol has for it.
 */

/** Why a request is refused; each protocol has its own words for it. */
export type RefusalKind =
  | "invalid_request"
  | "context_length"
  | "authentication"
  | "not_found"
  | "limit"
  | "busy"
  | "late"
  | "failure";

const STATUS: Readonly<Record<RefusalKind, number>> = {
  invalid_request: 400,
  context_length: 400,
  authentication: 401,
  not_found: 404,
  limit: 403,
  busy: 429,
  late: 504,
  failure: 500,
};

/** A request that is not answered, and why: the sentence is for whoever sent it. */
export class GatewayError extends Error {
  override name = "GatewayError";
  readonly kind: RefusalKind;
  /** The field of the request that is wrong. */
  readonly field: string | undefined;

  constructor(kind: RefusalKind, message: string, options: ErrorOptions & { field?: string } = {}) {
    super(message, options);
    this.kind = kind;
    this.field = options.field;
  }

  get status(): number {
    return STATUS[this.kind];
  }
}
