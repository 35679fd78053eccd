/**
 * @file transformers loads the folders that we make: the same logits for every family, the same token ids for
 * many texts, the same chats.
 */
import fc from "fast-check";
import {
  type ChatMessage,
  compileTemplate,
  loadChat,
  loadModel,
} from "../../../src/models/index.ts";
import type { Finding, InteropCheck } from "../check.ts";
import { comparedLogits, newModelFolder, ourLogits, someSequences } from "../models.ts";

const FAMILIES = ["qwen2", "qwen3", "llama", "mistral"];

/** How numbers are cut is a matter of the tokenizer alone; each way is tried with one of the families. */
const NUMBERS = ["apart", "joined", "named", "apart"];

/**
 * From version 5 on, transformers takes its own tokenizer for every folder of this family, whatever the
 * folder says: Qwen's rule for numbers, and NFC. There the class that the folder names must be asked for.
 */
const NOT_AUTOMATIC = "qwen2";

interface Answer {
  readonly models: readonly { logits: number[][]; kind: string }[];
  readonly texts: readonly {
    ids: number[][];
    texts: string[];
    chats: { text: string; ids: number[] }[];
  }[];
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

/** Random texts, the same in every run: whole Unicode, and words with spaces. */
function texts(): string[] {
  const any = fc.sample(fc.string({ unit: "binary", maxLength: 60 }), { seed: 1, numRuns: 500 });
  const graphemes = fc.string({ unit: "grapheme", maxLength: 60 });
  const words = fc.string({ unit: fc.constantFrom(..."abc XYZ  019.,'\n-é日"), maxLength: 80 });
  const more = [graphemes, words].flatMap((kind) => fc.sample(kind, { seed: 2, numRuns: 500 }));
  return [...EDGES, ...any, ...more];
}

const TOOL = {
  type: "function",
  function: { name: "look", description: "größe", parameters: { type: "object", properties: {} } },
};
const CHATS: readonly { messages: readonly ChatMessage[]; tools?: readonly unknown[] }[] = [
  { messages: [{ role: "user", content: "hello" }] },
  {
    messages: [
      { role: "system", content: "You are in a room.\n" },
      { role: "user", content: " look 12 " },
      { role: "assistant", content: "<think>größe 🙂</think><action>go</action>" },
      { role: "user", content: "Nothing happens." },
    ],
  },
  {
    messages: [
      { role: "system", content: "Use tools." },
      { role: "user", content: "Where?" },
      {
        role: "assistant",
        content: "",
        tool_calls: [{ type: "function", function: { name: "look", arguments: { at: "desk 1" } } }],
      },
      { role: "tool", content: "here" },
    ],
    tools: [TOOL],
  },
];

const check: InteropCheck = {
  name: "transformers",
  async run(peers, place) {
    const folders = FAMILIES.map((family, i) =>
      newModelFolder(place, family, "--numbers", NUMBERS[i]!),
    );
    const sequences = folders.map(someSequences);
    const sample = texts();
    const answer = await peers.ask<Answer>("transformers_reads.py", place, {
      models: folders.map((folder, i) => ({ folder, sequences: sequences[i] })),
      texts: folders.map((folder, i) => ({
        ...{ folder, texts: sample, chats: CHATS },
        automatic: FAMILIES[i] !== NOT_AUTOMATIC,
      })),
    });
    return folders.flatMap((folder, i): Finding[] => {
      const model = loadModel(folder);
      const ours = ourLogits(model, sequences[i]!);
      model.dispose();
      const { logits, kind } = answer.models[i]!;
      return [
        comparedLogits(`${kind}: logits`, ours, logits),
        comparedTexts(folder, FAMILIES[i]!, sample, answer.texts[i]!),
        comparedChats(folder, FAMILIES[i]!, answer.texts[i]!.chats),
      ];
    });
  },
};

export default check;

function comparedTexts(
  folder: string,
  family: string,
  sample: readonly string[],
  theirs: Answer["texts"][number],
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

function comparedChats(
  folder: string,
  family: string,
  theirs: readonly { text: string; ids: number[] }[],
): Finding {
  const { tokenizer, template } = loadChat(folder);
  const wrong = CHATS.flatMap(({ messages, tools }, i) => {
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
    detail: `${CHATS.length} chats, one with tools`,
    problem: wrong.join("\n") || undefined,
  };
}
