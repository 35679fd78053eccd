/**
 * @file Text to token ids and back, by the files of a Hugging Face tokenizer.
 *
 * `@huggingface/tokenizers` does the encoding. Decoding of byte-level tokenizers (Qwen, Llama 3, our own) and
 * of those that fall back to bytes (Gemma) is done here, so that a stream gives exactly the text of the whole.
 */
import { createHash } from "node:crypto";
import { Tokenizer as HuggingFaceTokenizer } from "@huggingface/tokenizers";
import { ModelFileError } from "../checkpoint/errors.ts";
import { bytesOfToken } from "./byte-alphabet.ts";
import { ControlTokens } from "./control-tokens.ts";
import type { TokenizerFiles } from "./files.ts";
import { leaveOutUnknownBytes, withPythonRules } from "./library-differences.ts";
import { byteStream, fallbackStream, rereadingStream, type TextStream } from "./stream.ts";

export interface EncodeOptions {
  /** What the tokenizer puts around a text by itself, such as a BOS token. Default: not. */
  addSpecialTokens?: boolean;
}

export interface DecodeOptions {
  /** Leaves out <|im_end|> and its like. Default: false. */
  skipSpecialTokens?: boolean;
}

/** The special tokens that tokenizer_config.json names by their use. */
export interface NamedTokens {
  bos_token: string | null;
  eos_token: string | null;
  pad_token: string | null;
  unk_token: string | null;
}

/** Numbers, spaces, capitals, contractions, accents in both forms, letters of others, code. */
const PROBES = [
  "It's 1234567 o'clock, I'LL go\tto  drawer 12.\n\n  Then\r\nput 3.5 kg of it 10x further",
  "naïve nai\u0308ve ﬁne Ⅻ 漢字かな한국어 Привет مرحبا 👩\u200d🚀 \u00a0 \u2028",
  "function f(x) { return x_1 ** 2 + 'a\\n'; } // https://example.org/?q=1&r=%20 <b>&amp;</b> [a](b)",
];

export class Tokenizer {
  /** The folder it came from. */
  readonly folder: string;
  /** One more than the highest id. A model may have more rows than that: they are never used. */
  readonly vocabularySize: number;
  /** Ids of tokens that are matched as whole strings before anything else. */
  readonly addedIds: ReadonlySet<number>;
  /** Those of them that are no text: they control. */
  readonly specialIds: ReadonlySet<number>;
  readonly namedTokens: NamedTokens;
  /** What would control if its text were taken for a token: the special tokens. */
  readonly controlTokens: ControlTokens;
  /** Whether tokens are sequences of bytes (and any text can be encoded). */
  readonly byteLevel: boolean;

  readonly #byteFallback: boolean;
  readonly #tokenizer: HuggingFaceTokenizer;
  /** The same, but that control tokens have secret names, and their texts are only characters. */
  readonly #naming: HuggingFaceTokenizer;
  readonly #bytes: (Uint8Array | undefined)[] = [];
  #fingerprint: string | undefined;

  constructor({ folder, tokenizer: json, config, namedTokens, ...kind }: TokenizerFiles) {
    this.folder = folder;
    const tokenizer = withPythonRules(json);
    // A clean-up of spaces would make decoding inexact.
    const settings = { ...config, clean_up_tokenization_spaces: false };
    this.#tokenizer = new HuggingFaceTokenizer(tokenizer, settings);
    if (kind.byteLevel) leaveOutUnknownBytes(this.#tokenizer.model);
    const added = [...this.#tokenizer.get_added_tokens_decoder()];
    this.addedIds = new Set(added.map(([id]) => id));
    const special = added.filter(([, token]) => token.special);
    this.specialIds = new Set(special.map(([id]) => id));
    this.controlTokens = new ControlTokens(special.map(([, { content }]) => content));
    const named = added.map(([, token]) =>
      token.special ? { ...token, content: this.controlTokens.nameOf(token.content) } : token,
    );
    // Vocabulary and merges are large and the same for both.
    const empty = { type: "BPE", vocab: {}, merges: [] };
    this.#naming = new HuggingFaceTokenizer(
      { ...tokenizer, added_tokens: named, model: empty },
      settings,
    );
    this.#naming.model = this.#tokenizer.model;
    let size = 0;
    for (const id of this.#tokenizer.get_vocab().values()) size = Math.max(size, id + 1);
    this.vocabularySize = size;
    this.namedTokens = namedTokens;
    this.byteLevel = kind.byteLevel;
    this.#byteFallback = kind.byteFallback;
  }

  /** Token ids of a text. Special tokens written out become their ids: not for what others wrote. */
  encode(text: string, { addSpecialTokens = false }: EncodeOptions = {}): number[] {
    if (text === "" && !addSpecialTokens) return [];
    return this.#tokenizer.encode(text, { add_special_tokens: addSpecialTokens }).ids;
  }

  /** Token ids of a text in which special tokens written out are characters like all others. */
  encodePlain(text: string): number[] {
    return this.encodeRendered(this.controlTokens.hide(text));
  }

  /** Token ids of a text in which only those special tokens are characters that `controlTokens` hid. */
  encodeRendered(text: string): number[] {
    if (!this.controlTokens.isHiddenIn(text)) return this.encode(text);
    const named = this.controlTokens.nameWritten(text);
    const { ids, tokens }: { ids: number[]; tokens: string[] } = this.#naming.encode(named, {
      add_special_tokens: false,
    });
    return tokens.flatMap((token, i) => (this.#isForged(token) ? this.#spell(token) : ids[i]!));
  }

  /** Some vocabularies have control tokens among the others (Llama 2: <s>), and merges that lead there. */
  #isForged(token: string): boolean {
    return this.controlTokens.has(token) && token !== this.namedTokens.unk_token;
  }

  #spell(token: string): number[] {
    return Array.from(token, (character) => {
      const id = this.tokenToId(character);
      if (id !== undefined) return id;
      throw new ModelFileError(
        this.folder,
        `the tokenizer has no token for "${character}", so "${token}" cannot be ` +
          "written as text; use a tokenizer that knows all characters, or leave it out of messages",
      );
    });
  }

  /** Throws what the library throws of files that it took and cannot use. */
  tryOut(): void {
    for (const text of PROBES)
      for (const addSpecialTokens of [false, true])
        this.decode(this.encode(text, { addSpecialTokens }));
  }

  /** The text of token ids. Ids without a token (a model's unused rows) are no text. */
  decode(ids: Iterable<number>, options: DecodeOptions = {}): string {
    const stream = this.stream(options);
    const text = stream.push(ids);
    return text + stream.finish();
  }

  /** Decodes piece by piece: what is pushed and finished is together the text of all ids. */
  stream({ skipSpecialTokens = false }: DecodeOptions = {}): TextStream {
    const wanted = (id: number): boolean =>
      this.idToToken(id) !== undefined && !(skipSpecialTokens && this.specialIds.has(id));
    if (this.byteLevel) return byteStream((id) => (wanted(id) ? this.tokenBytes(id) : undefined));
    return this.#byteFallback
      ? fallbackStream((id) => (wanted(id) ? pieceOf(this.idToToken(id)!) : undefined))
      : rereadingStream(wanted, (ids) => this.#tokenizer.decode(ids));
  }

  /** The id of a token as the vocabulary spells it (byte-level tokenizers: "Ġthe" for " the"). */
  tokenToId(token: string): number | undefined {
    return this.#tokenizer.token_to_id(token);
  }

  idToToken(id: number): string | undefined {
    return this.#tokenizer.id_to_token(id);
  }

  /** The bytes that a token adds to the text: none for an id without a token. */
  tokenBytes(id: number): Uint8Array {
    const known = this.#bytes[id];
    if (known) return known;
    const bytes = this.#findBytes(id);
    if (this.idToToken(id) !== undefined) this.#bytes[id] = bytes;
    return bytes;
  }

  #findBytes(id: number): Uint8Array {
    const token = this.idToToken(id);
    if (token === undefined) return new Uint8Array();
    const verbatim = (text: string): Uint8Array => new TextEncoder().encode(text);
    // Gemma has runs of spaces among the added ones, spelled as all others are.
    if (this.addedIds.has(id) && !this.#byteFallback) return verbatim(token);
    if (this.byteLevel) return bytesOfToken(token) ?? verbatim(token);
    const piece = pieceOf(token);
    return typeof piece === "number" ? Uint8Array.of(piece) : verbatim(piece);
  }

  /**
   * Two tokenizers with the same one give the same ids for a text: of every token by its id, and of what
   * becomes of texts that they cut differently. Not of the files, which others write in other ways.
   */
  get fingerprint(): string {
    this.#fingerprint ??= this.#findFingerprint();
    return this.#fingerprint;
  }

  #findFingerprint(): string {
    const hash = createHash("sha256");
    for (let id = 0; id < this.vocabularySize; id++) hash.update(`${this.idToToken(id) ?? ""}\0`);
    for (const text of PROBES) hash.update(`${this.encodePlain(text).join(" ")}\n`);
    return hash.update([...this.specialIds].sort((a, b) => a - b).join(" ")).digest("hex");
  }

  get bosTokenId(): number | null {
    return this.#namedId("bos_token");
  }

  get eosTokenId(): number | null {
    return this.#namedId("eos_token");
  }

  get padTokenId(): number | null {
    return this.#namedId("pad_token");
  }

  #namedId(name: keyof NamedTokens): number | null {
    const token = this.namedTokens[name];
    return token === null ? null : (this.tokenToId(token) ?? null);
  }
}

/** SentencePiece's spelling: <0x0A> is a byte, ▁ a space. */
function pieceOf(token: string): string | number {
  const byte = /^<0x([0-9A-Fa-f]{2})>$/.exec(token);
  return byte ? Number.parseInt(byte[1]!, 16) : token.replaceAll("▁", " ");
}
