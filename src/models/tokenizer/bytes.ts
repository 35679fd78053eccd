/**
 * @file A chat without a model: a tokenizer whose tokens are bytes and the special ones, with our own
 * template. For scripted experts and for servers whose tokenizer nobody has.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Chat } from "./chat/chat.ts";
import { loadChat } from "./chat/load.ts";
import { trainTokenizer, writeTokenizer } from "./train.ts";

/** Any text is its bytes; encoding and decoding are exact. */
export function byteChat(): Chat {
  const folder = mkdtempSync(join(tmpdir(), "openmanus-bytes-"));
  try {
    writeTokenizer(folder, trainTokenizer([], { vocabularySize: 259 }));
    return loadChat(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
