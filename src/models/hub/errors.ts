/**
 * @file What can go wrong with the Hub; the message is a sentence for the person at the terminal.
 */
import { withoutKey } from "../../spelling/index.ts";

/**
 * unreachable: nobody answered, or nothing that makes sense came, and later it may; refused: the Hub said no, and
 * will say it again; wrong: what was asked for, or what came, cannot be right.
 */
export type HubFailure = "unreachable" | "refused" | "wrong";

export class HubError extends Error {
  override name = "HubError";
  readonly kind: HubFailure;
  /** Milliseconds that the Hub asks to wait before it is asked again; undefined: it does not say. */
  readonly wait: number | undefined;

  constructor(kind: HubFailure, message: string, options?: ErrorOptions & { wait?: number }) {
    super(message, options);
    this.kind = kind;
    this.wait = options?.wait;
  }
}

/** The same without the token, should somebody have sent it back in what they said. */
export function hiding(error: unknown, token: string | undefined): unknown {
  if (error instanceof HubError && token !== undefined)
    error.message = withoutKey(error.message, token);
  return error;
}
