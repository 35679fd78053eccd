/**
 * @file A vocabulary as the metadata that llama.cpp's converter writes.
 */
import type { Entry } from "../format/writer.ts";
import type { GgufVocabulary } from "./vocabulary.ts";

/** `endOfTurn`: more tokens that end a reply, besides the vocabulary's own end. */
export function tokenizerEntries(
  vocabulary: GgufVocabulary,
  endOfTurn: readonly number[],
): Map<string, Entry> {
  const { model, tokens, kinds, merges, scores, eos } = vocabulary;
  const [turn, message] = endOfTurn.filter((id) => id !== eos);
  const ids: [string, number | null | undefined][] = [
    ["bos", vocabulary.bos],
    ["eos", eos],
    ["eot", turn],
    ["eom", message],
    ["unknown", vocabulary.unknown],
    ["padding", vocabulary.pad],
  ];
  const entries: [string, Entry][] = [
    ["model", { type: "string", value: model }],
    ["pre", { type: "string", value: vocabulary.pre }],
    ["tokens", { type: "strings", value: tokens }],
    ["token_type", { type: "int32s", value: kinds }],
    model === "gpt2"
      ? ["merges", { type: "strings", value: merges }]
      : ["scores", { type: "float32s", value: scores }],
    ...ids.flatMap(([name, value]): [string, Entry][] =>
      value === null || value === undefined
        ? []
        : [[`${name}_token_id`, { type: "uint32", value }]],
    ),
    ["add_bos_token", { type: "bool", value: vocabulary.addBos }],
    ["add_space_prefix", { type: "bool", value: vocabulary.addSpacePrefix }],
  ];
  const texts: [string, string | undefined][] = [
    ["tokenizer.chat_template", vocabulary.chatTemplate],
    ["tokenizer.huggingface.json", vocabulary.huggingFace],
  ];
  return new Map<string, Entry>([
    ...entries.map(([name, entry]): [string, Entry] => [`tokenizer.ggml.${name}`, entry]),
    ...texts.flatMap(([key, value]): [string, Entry][] =>
      value === undefined ? [] : [[key, { type: "string", value }]],
    ),
  ]);
}
