/**
 * @file Where `@huggingface/tokenizers` gives other tokens than the Python library of that name, which models
 * are trained with: put right here, for every folder.
 */
import { isJsonObject, type JsonObject } from "../checkpoint/json.ts";
import { BYTE_CHARACTERS } from "./byte-alphabet.ts";

/** Parts within parts of a pre-tokenizer. */
const DEEPEST = 100;

/** tokenizer.json with rules that the library follows as Python's does. */
export function withPythonRules(tokenizer: JsonObject): JsonObject {
  return { ...tokenizer, pre_tokenizer: withUnicodeDigits(tokenizer.pre_tokenizer) };
}

/** To Python, "½" and "Ⅻ" are digits, too: all that Unicode calls numbers. */
function withUnicodeDigits(part: unknown, depth = 0): unknown {
  if (!isJsonObject(part) || depth > DEEPEST) return part;
  if (part.type === "Sequence" && Array.isArray(part.pretokenizers))
    return {
      ...part,
      pretokenizers: part.pretokenizers.map((inner) => withUnicodeDigits(inner, depth + 1)),
    };
  if (part.type !== "Digits") return part;
  const pattern = { Regex: part.individual_digits ? "\\p{N}" : "\\p{N}+" };
  return { type: "Split", pattern, behavior: "Isolated", invert: false };
}

/** What is used here of the library's own. */
interface LibraryModel {
  readonly tokens_to_ids: ReadonlyMap<string, number>;
  readonly unk_token?: string | null;
  encode(words: string[]): string[];
}

/**
 * Some byte-level vocabularies (SmolLM2's) have no token for bytes that are hardly ever written. Python leaves
 * such bytes out before it merges; the library after, when their neighbours no longer meet.
 */
export function leaveOutUnknownBytes(model: LibraryModel): void {
  const unknown = BYTE_CHARACTERS.filter((character) => !model.tokens_to_ids.has(character));
  if (unknown.length === 0 || (model.unk_token ?? null) !== null) return;
  const pattern = new RegExp(
    `[${unknown.map((character) => `\\u{${hex(character)}}`).join("")}]`,
    "gu",
  );
  const encode = model.encode.bind(model);
  model.encode = (words) => encode(words.map((word) => word.replace(pattern, "")));
}

function hex(character: string): string {
  return character.codePointAt(0)!.toString(16);
}
