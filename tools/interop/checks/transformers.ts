/**
 * @file transformers loads the folders that we make: the same logits for every family, the same token ids for
 * many texts, the same chats.
 */
import { loadModel } from "../../../src/models/index.ts";
import type { Finding, InteropCheck } from "../check.ts";
import {
  comparedLogits,
  newModelFolder,
  ourLogits,
  savedGolden,
  someSequences,
} from "../models.ts";
import {
  comparedChats,
  comparedTexts,
  type SomeChat,
  someTexts,
  type TextAnswer,
} from "../texts.ts";

const FAMILIES = ["qwen2", "qwen3", "llama", "mistral", "smollm3", "gemma3_text"];

/** How numbers are cut is a matter of the tokenizer alone; each way is tried with one of the families. */
const NUMBERS = ["apart", "joined", "named", "apart", "joined", "named"];

/** Those whose layers differ, saved again: new models of them have too few layers, and too wide windows. */
const SAVED_AGAIN = ["smollm3", "gemma3_text"];

/**
 * From version 5 on, transformers takes its own tokenizer for every folder of this family, whatever the
 * folder says: Qwen's rule for numbers, and NFC. There the class that the folder names must be asked for.
 */
const NOT_AUTOMATIC = "qwen2";

interface Answer {
  readonly models: readonly { logits: number[][]; kind: string }[];
  readonly texts: readonly TextAnswer[];
}

const TOOL = {
  type: "function",
  function: { name: "look", description: "größe", parameters: { type: "object", properties: {} } },
};
const CHATS: readonly SomeChat[] = [
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
    const again = SAVED_AGAIN.map((family) => savedGolden(place, family));
    const all = [...folders, ...again];
    const sequences = all.map(someSequences);
    const sample = someTexts(500);
    const answer = await peers.ask<Answer>("transformers_reads.py", place, {
      models: all.map((folder, i) => ({ folder, sequences: sequences[i] })),
      texts: folders.map((folder, i) => ({
        ...{ folder, texts: sample, chats: CHATS },
        automatic: FAMILIES[i] !== NOT_AUTOMATIC,
      })),
    });
    return all.flatMap((folder, i): Finding[] => {
      const model = loadModel(folder);
      const ours = ourLogits(model, sequences[i]!);
      model.dispose();
      const { logits, kind } = answer.models[i]!;
      if (i >= folders.length)
        return [comparedLogits(`${kind}, saved again: logits`, ours, logits)];
      return [
        comparedLogits(`${kind}: logits`, ours, logits),
        comparedTexts(folder, FAMILIES[i]!, sample, answer.texts[i]!),
        comparedChats(folder, FAMILIES[i]!, CHATS, answer.texts[i]!.chats),
      ];
    });
  },
};

export default check;
