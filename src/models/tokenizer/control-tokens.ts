/**
 * @file Control tokens as text: what a chat template writes is a token, what stands in a message (a web
 * page that says <|im_end|>) is characters, or whoever writes an observation could end the turn.
 *
 * They are told apart by stand-ins: a message's control tokens are hidden behind them before the template
 * is rendered. In the rendered text the template's own then get another name, by which alone they are
 * tokens, and the message's their characters back.
 */
import { randomBytes } from "node:crypto";
import { isJsonObject } from "../checkpoint/json.ts";

/** In every stand-in and name. Nobody outside can know it; digits, which no filter of Jinja changes. */
const SECRET = BigInt(`0x${randomBytes(16).toString("hex")}`).toString();
/** Private-use characters around it: neither spaces, which are trimmed, nor normalised. */
const MARKS = /[\uE000\uE001]/;
const STAND_IN = new RegExp(`\uE000${SECRET}x(\\d+)\uE001`, "g");

export class ControlTokens {
  readonly #texts: readonly string[];
  readonly #places: ReadonlyMap<string, number>;
  readonly #written: RegExp;
  readonly #writtenOrHidden: RegExp;

  constructor(texts: readonly string[]) {
    this.#texts = texts;
    this.#places = new Map(texts.map((text, i) => [text, i]));
    // The longest first: a token may begin with another.
    const longestFirst = [...texts].filter(Boolean).sort((a, b) => b.length - a.length);
    const written =
      longestFirst.map((text) => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("|") || "(?!)";
    this.#written = new RegExp(written, "g");
    this.#writtenOrHidden = new RegExp(`${STAND_IN.source}|${written}`, "g");
  }

  has(text: string): boolean {
    return this.#places.has(text);
  }

  /** The name by which a control token is known where its text is only characters. */
  nameOf(text: string): string {
    return `\uE002${SECRET}x${this.#places.get(text)}\uE001`;
  }

  #standIn(text: string): string {
    return `\uE000${SECRET}x${this.#places.get(text)}\uE001`;
  }

  /** A message, or anything made like JSON, with stand-ins; the very same where there is nothing to hide. */
  hide<T>(value: T): T {
    return this.#hide(value) as T;
  }

  #hide(value: unknown): unknown {
    if (typeof value === "string")
      return value.replace(this.#written, (text) => this.#standIn(text));
    if (Array.isArray(value)) {
      const items = value.map((item) => this.#hide(item));
      return items.some((item, i) => item !== value[i]) ? items : value;
    }
    if (!isJsonObject(value)) return value;
    const entries = Object.entries(value);
    const hidden = entries.map(([key, item]) => [this.#hide(key), this.#hide(item)] as const);
    const same = hidden.every(
      ([key, item], i) => key === entries[i]![0] && item === entries[i]![1],
    );
    return same ? value : Object.fromEntries(hidden);
  }

  /** Whether a text has stand-ins. */
  isHiddenIn(text: string): boolean {
    return text.includes(SECRET);
  }

  /** Whether a template took messages with stand-ins and left a part of one in the text. */
  isCutIn(text: string, messages: unknown): boolean {
    const rest = this.reveal(text);
    return rest.includes(SECRET) || (MARKS.test(rest) && !MARKS.test(JSON.stringify(messages)));
  }

  /** The text for people. */
  reveal(text: string): string {
    return text.replace(STAND_IN, (_, place: string) => this.#texts[Number(place)]!);
  }

  /** What is written gets its name, what is hidden its text. */
  nameWritten(text: string): string {
    return text.replace(this.#writtenOrHidden, (match, place: string | undefined) =>
      place === undefined ? this.nameOf(match) : this.#texts[Number(place)]!,
    );
  }
}
