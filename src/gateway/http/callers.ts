/**
 * @file Who asks, and for which session: what an unmodified client can set says both.
 *
 *   the key         "Bearer KEY", or x-api-key as Anthropic's clients send it
 *   its suffix      "KEY:name" is the session `name` of KEY
 *   a header        x-session-id: name
 *   the address     /s/name/v1/…
 *
 * A session that was opened for a program has a secret for a name, which is its key as well; it is found by either,
 * and by nothing else.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { Session } from "../conversation/session.ts";
import { GatewayError } from "../errors.ts";
import type { Gateway } from "../gateway.ts";

export interface CallerRules {
  /** Any of these opens the door. None: nobody is asked for one. */
  readonly keys: readonly string[];
  /** Only programs that were given a session may ask. */
  readonly sessionsOnly: boolean;
}

export interface Caller {
  /** Keeps the sessions of one key apart from those of another. */
  readonly owner: string;
  /** The session's name. */
  readonly name: string | undefined;
  /** A session that was opened for a program. */
  readonly opened: Session | undefined;
}

export const UNKNOWN_SESSION = "there is no such session, or it is over.";
const NAME = /^[\w.@=+-]{1,128}$/;

export function callerOf(
  gateway: Gateway,
  rules: CallerRules,
  headers: Headers,
  prefix: string | undefined,
): Caller {
  const key = keyIn(headers);
  const named = prefix === undefined ? undefined : gateway.opened(prefix);
  const opened = named ?? (key === undefined ? undefined : gateway.opened(key));
  if (opened) return { owner: "", name: undefined, opened };
  if (rules.sessionsOnly) throw new GatewayError("authentication", UNKNOWN_SESSION);
  const { owner, suffix } = ownerOf(rules.keys, key);
  const name = prefix ?? headers.get("x-session-id") ?? suffix;
  if (name !== undefined && !NAME.test(name))
    throw new GatewayError(
      "invalid_request",
      "a session's name has 1 to 128 letters, digits and signs of _ . @ = + -",
    );
  return { owner, name, opened: undefined };
}

/** The session that a call belongs to, where it belongs to one. */
export function sessionOf(gateway: Gateway, { owner, name, opened }: Caller): Session | undefined {
  return opened ?? (name === undefined ? undefined : gateway.named(owner, name));
}

/** The key that a client brings. */
export function keyIn(headers: Headers): string | undefined {
  const bearer = /^Bearer\s+(\S+)$/i.exec(headers.get("authorization") ?? "")?.[1];
  return bearer ?? headers.get("x-api-key") ?? undefined;
}

function ownerOf(
  keys: readonly string[],
  given: string | undefined,
): { owner: string; suffix: string | undefined } {
  const colon = given?.lastIndexOf(":") ?? -1;
  const base = colon < 0 ? given : given!.slice(0, colon);
  const suffix = colon < 0 ? undefined : given!.slice(colon + 1) || undefined;
  if (keys.length === 0) return { owner: "", suffix };
  // All are compared, each in constant time: which one it was, or how far it fits, does not show.
  let owner: { owner: string; suffix: string | undefined } | undefined;
  for (const [i, key] of keys.entries()) {
    if (isSame(key, given)) owner = { owner: String(i), suffix: undefined };
    else if (isSame(key, base)) owner = { owner: String(i), suffix };
  }
  if (owner) return owner;
  throw new GatewayError("authentication", "the key is missing, or none of this server's.");
}

function isSame(key: string, given: string | undefined): boolean {
  const hash = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(key), hash(given ?? "")) && given !== undefined;
}
