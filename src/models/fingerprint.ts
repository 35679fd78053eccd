/**
 * @file By what a model is told from another that has the same shape, or the same name: an adapter on another
 * base, or ids of another tokenizer, are numbers like any others, and what comes of them is garbage.
 */
import { createHash } from "node:crypto";
import { closeSync, openSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";
import { loadChat } from "./tokenizer/chat/load.ts";

export interface Fingerprints {
  /** Of the weights' files, byte by byte. */
  readonly weights: string;
  /** Of what the tokenizer does; see Tokenizer. */
  readonly tokenizer: string;
  /** Of the chat template's text. */
  readonly template: string;
}

export function fingerprintsOf(folder: string): Fingerprints {
  const { tokenizer, template } = loadChat(folder);
  return {
    weights: weightsFingerprint(folder),
    tokenizer: tokenizer.fingerprint,
    template: createHash("sha256").update(template.source).digest("hex"),
  };
}

const PIECE = 2 ** 22;

function weightsFingerprint(folder: string): string {
  const hash = createHash("sha256");
  const piece = Buffer.allocUnsafe(PIECE);
  for (const name of readdirSync(folder).sort()) {
    if (!name.endsWith(".safetensors")) continue;
    hash.update(`${name}\n`);
    const descriptor = openSync(join(folder, name), "r");
    try {
      for (let count = -1; count !== 0; ) {
        count = readSync(descriptor, piece);
        hash.update(piece.subarray(0, count));
      }
    } finally {
      closeSync(descriptor);
    }
  }
  return hash.digest("hex");
}
