/**
 * @file Where a request belongs among what a session has said: it goes on with a branch whose messages and replies
 * it repeats as they were, or begins a branch of its own that shares as much as is the same.
 */
import type { Conversation } from "../../models/index.ts";
import type { Turn } from "../../rollout/index.ts";
import { type GatewayMessage, signatureOf, withoutThoughts } from "./messages.ts";

/** Why a branch was begun. */
export type ForkReason =
  /** The session's first conversation. */
  | "first"
  /** Nothing in common with what there was: a sub-agent, or a summary in place of it all. */
  | "new conversation"
  /** The branch is still being answered. */
  | "parallel call"
  /** The same messages again, for another answer. */
  | "asked again"
  /** A reply came back without its thoughts. */
  | "dropped thoughts"
  /** A reply came back otherwise than it was given. */
  | "edited reply"
  /** What the agent said before is not what it says now. */
  | "edited history"
  /** Other functions are offered. */
  | "other tools"
  /** The template takes no such messages behind a reply. */
  | "template";

export const FORK_REASONS: readonly ForkReason[] = [
  ...(["first", "new conversation", "parallel call", "asked again", "dropped thoughts"] as const),
  ...(["edited reply", "edited history", "other tools", "template"] as const),
];

/** One message of a branch; a reply of ours knows its number among the branch's replies, from 1. */
export interface Entry {
  readonly signature: string;
  readonly message: GatewayMessage;
  readonly reply?: number;
}

export interface Branch {
  readonly number: number;
  readonly reason: ForkReason;
  /** The functions that its prompt shows. */
  readonly tools: string;
  /** Only ever grows; replaced by its beginning where a reply did not come. */
  conversation: Conversation;
  readonly entries: Entry[];
  /** The replies that were drawn in it; those that it shares with the branch it came from are not. */
  readonly turns: Turn[];
  /** A reply is being drawn. */
  busy: boolean;
}

/** Where to go on: behind so many replies of a branch (that is, so many of its entries), or from nothing. */
export interface Shared {
  readonly branch: Branch;
  readonly replies: number;
  readonly entries: number;
}

export type Place =
  | { readonly kind: "extend"; readonly from: Shared; readonly rest: readonly GatewayMessage[] }
  | {
      readonly kind: "fork";
      readonly reason: ForkReason;
      readonly from?: Shared;
      readonly rest: readonly GatewayMessage[];
    };

export function placeOf(
  branches: readonly Branch[],
  messages: readonly GatewayMessage[],
  tools: string,
): Place {
  if (branches.length === 0) return { kind: "fork", reason: "first", rest: messages };
  const signatures = messages.map(signatureOf);
  let best: { branch: Branch; common: number; replies: number; entries: number } | undefined;
  let othersTools: ForkReason | undefined;
  for (const branch of branches) {
    const common = commonEntries(branch.entries, signatures);
    if (branch.tools !== tools) {
      if (common > 0) othersTools = "other tools";
      continue;
    }
    // Ids are shared up to the end of a reply: there alone a template can be cut.
    let replies = 0;
    let entries = 0;
    for (let i = 0; i < common; i++) {
      const { reply } = branch.entries[i]!;
      if (reply === undefined) continue;
      replies = reply;
      entries = i + 1;
    }
    const isBetter =
      !best ||
      entries > best.entries ||
      (entries === best.entries && common > best.common) ||
      (entries === best.entries && common === best.common && best.branch.busy && !branch.busy);
    if (isBetter) best = { branch, common, replies, entries };
    const goesOn = !branch.busy && replies > 0 && entries === branch.entries.length;
    if (goesOn && messages.length > entries)
      return { kind: "extend", from: { branch, replies, entries }, rest: messages.slice(entries) };
  }
  if (!best) return { kind: "fork", reason: othersTools ?? "new conversation", rest: messages };
  const reason = reasonOf(best, messages, signatures);
  const { branch, replies, entries } = best;
  if (replies === 0) return { kind: "fork", reason, rest: messages };
  return {
    kind: "fork",
    reason,
    from: { branch, replies, entries },
    rest: messages.slice(entries),
  };
}

function commonEntries(entries: readonly Entry[], signatures: readonly string[]): number {
  let common = 0;
  while (common < entries.length && entries[common]!.signature === signatures[common]) common++;
  return common;
}

function reasonOf(
  { branch, common }: { branch: Branch; common: number },
  messages: readonly GatewayMessage[],
  signatures: readonly string[],
): ForkReason {
  if (common === branch.entries.length && branch.busy) return "parallel call";
  if (common === signatures.length) return branch.busy ? "parallel call" : "asked again";
  const known = branch.entries[common];
  const given = messages[common]!;
  if (common === 0) return "new conversation";
  if (known?.reply !== undefined && given.role === "assistant") {
    const bare = { ...known.message, content: withoutThoughts(known.message.content) };
    const same =
      signatureOf(bare) === signatureOf({ ...given, content: withoutThoughts(given.content) });
    return same ? "dropped thoughts" : "edited reply";
  }
  return "edited history";
}
