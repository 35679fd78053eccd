/**
 * @file Pairs from rows that people bring, in TRL's forms: `prompt`, `chosen` and `rejected` as lists of messages, or
 * as texts; without `prompt` it is what both begin with. A number `margin` says by how much.
 *
 * Messages go through the model's template. Texts do not: they are encoded as they are, and an answer ends with the
 * tokenizer's end of text, as TRL does it.
 */
import { OptionError } from "../../assembly/index.ts";
import type { Chat, ChatMessage } from "../../models/index.ts";
import { conversationOf } from "../sft/examples.ts";
import { messagesOf } from "../sft/rows.ts";
import { type Pair, pairOf, type Said } from "./pairs.ts";

export function pairOfRow(row: unknown, chat: Chat, place: string): Pair {
  const { prompt, chosen, rejected, margin = 0 } = (row ?? {}) as Record<string, unknown>;
  if (typeof margin !== "number" || !Number.isFinite(margin))
    throw new OptionError(`${place}: expected "margin" to be a number`);
  const sides =
    typeof chosen === "string" || typeof rejected === "string"
      ? textSides(chat, { prompt, chosen, rejected }, place)
      : messageSides(chat, { prompt, chosen, rejected }, place);
  const pair = pairOf(place, ...sides, margin);
  if (pair) return pair;
  throw new OptionError(`${place}: "chosen" and "rejected" are the same, or one of them is empty`);
}

interface Fields {
  readonly prompt: unknown;
  readonly chosen: unknown;
  readonly rejected: unknown;
}

function textSides(
  { tokenizer, endOfTurnId }: Chat,
  { prompt, chosen, rejected }: Fields,
  place: string,
): [Said, Said] {
  if (typeof prompt !== "string" || typeof chosen !== "string" || typeof rejected !== "string")
    throw new OptionError(
      `${place}: expected "prompt", "chosen" and "rejected" to be texts, or all of them lists of messages`,
    );
  const end = tokenizer.eosTokenId ?? endOfTurnId;
  const promptIds = tokenizer.encodePlain(prompt);
  const said = (text: string): Said => ({
    context: "conversation",
    turns: [{ promptIds, reply: { ids: [...tokenizer.encodePlain(text), end] } }],
  });
  return [said(chosen), said(rejected)];
}

function messageSides(
  chat: Chat,
  { prompt, chosen, rejected }: Fields,
  place: string,
): [Said, Said] {
  if (!(Array.isArray(chosen) && Array.isArray(rejected)))
    throw new OptionError(
      `${place}: expected "chosen" and "rejected", with "prompt" (lists of messages with role and content, or texts)`,
    );
  const first =
    typeof prompt === "string"
      ? [{ role: "user" as const, content: prompt }]
      : messagesOf(Array.isArray(prompt) ? prompt : [], place);
  const said = (list: readonly unknown[]): Said => {
    const messages = [...first, ...messagesOf(list, place)];
    try {
      return { context: "conversation", turns: turnsOfChat(chat, messages) };
    } catch (error) {
      throw new OptionError(`${place}: ${(error as Error).message}`);
    }
  };
  return [said(chosen), said(rejected)];
}

function turnsOfChat(chat: Chat, messages: readonly ChatMessage[]): Said["turns"] {
  const { ids, segments } = conversationOf(chat, messages);
  let from = 0;
  return segments.flatMap(({ kind, start, end }) => {
    if (kind !== "reply") return [];
    const promptIds = ids.slice(from, start);
    from = end;
    return [{ promptIds, reply: { ids: ids.slice(start, end) } }];
  });
}
