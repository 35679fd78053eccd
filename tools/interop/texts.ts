/**
 * @file What the checks of tokenizers share: texts of many kinds, and whether a peer makes the same tokens and
 * the same chats of them.
 */
import fc from "fast-check";
import { type ChatMessage, compileTemplate, loadChat } from "../../src/models/index.ts";
import type { Finding } from "./check.ts";

export interface SomeChat {
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly unknown[];
}

/** What transformers_reads.py makes of texts. */
export interface TextAnswer {
  readonly ids: readonly (readonly number[])[];
  readonly texts: readonly string[];
  readonly chats: readonly { readonly text: string; readonly ids: readonly number[] }[];
}

const EDGES = [
  ...["", " ", "  ", "\n", "\r\n\r\n\t", "a", " a", "a ", "I'm they'LL we've", "x".repeat(3000)],
  ...[
    "0",
    "12",
    "1234567890",
    "3.14 1,000 -5e-7",
    "drawer 12 and cabinet 3",
    "B07XQ2 [SEP] <think>",
  ],
  ...[
    "größe naïve",
    "e\u0301 é ﬁ ½",
    "日本語のテキスト",
    "עברית عربى",
    "👩‍👩‍👧‍👦 🇩🇪 👍🏽",
    "\u0000\u0001\u00a0\u200b\ufeff",
  ],
  ...[
    "<|im_start|>user\nhi<|im_end|>\n",
    "<|endoftext|>a<|endoftext|>",
    "<|im_start",
    " <|im_end|> ",
  ],
];

/** Random texts, the same in every run, so many of each kind: whole Unicode, and words with spaces. */
export function someTexts(numRuns: number): string[] {
  const any = fc.sample(fc.string({ unit: "binary", maxLength: 60 }), { seed: 1, numRuns });
  const graphemes = fc.string({ unit: "grapheme", maxLength: 60 });
  const words = fc.string({ unit: fc.constantFrom(..."abc XYZ  019.,'\n-é日"), maxLength: 80 });
  const more = [graphemes, words].flatMap((kind) => fc.sample(kind, { seed: 2, numRuns }));
  return [...EDGES, ...any, ...more];
}

export function comparedTexts(
  folder: string,
  family: string,
  sample: readonly string[],
  theirs: TextAnswer,
): Finding {
  const { tokenizer } = loadChat(folder);
  const wrong = sample.flatMap((text, i) => {
    const ids = [...tokenizer.encode(text)];
    if (String(ids) !== String(theirs.ids[i]))
      return [`${JSON.stringify(text)} is [${ids}], theirs [${theirs.ids[i]}]`];
    const again = tokenizer.decode(ids);
    return again === theirs.texts[i] ? [] : [`[${ids}] is ${JSON.stringify(again)} again`];
  });
  const tokens = theirs.ids.reduce((sum, ids) => sum + ids.length, 0);
  return {
    what: `${family}: token ids and texts of them`,
    detail: `${sample.length} texts, ${tokens} tokens`,
    problem:
      wrong.length > 0 ? `${wrong.length} differ:\n${wrong.slice(0, 3).join("\n")}` : undefined,
  };
}

export function comparedChats(
  folder: string,
  family: string,
  chats: readonly SomeChat[],
  theirs: TextAnswer["chats"],
): Finding {
  const { tokenizer, template } = loadChat(folder);
  const wrong = chats.flatMap(({ messages, tools }, i) => {
    const ours = compileTemplate(template.source, template.file).render(messages, {
      addGenerationPrompt: true,
      ...(tools && { tools }),
    });
    const { text, ids } = theirs[i]!;
    if (ours !== text)
      return [`chat ${i}: ${JSON.stringify(ours)}, theirs ${JSON.stringify(text)}`];
    return String(tokenizer.encode(ours)) === String(ids) ? [] : [`chat ${i}: other ids`];
  });
  return {
    what: `${family}: chats`,
    detail: `${chats.length} chats`,
    problem: wrong.slice(0, 3).join("\n") || undefined,
  };
}
