/**
 * @file The alphabet of byte-level tokenizers: one visible character for each byte.
 *
 * GPT-2's way, which Qwen and Llama 3 took over: printable Latin-1 bytes stand for themselves, the
 * others for characters from U+0100 on, so that a token is always readable text without spaces.
 */

/** The character of each byte. */
export const BYTE_CHARACTERS: readonly string[] = byteCharacters();

const CHARACTER_BYTES = new Map(BYTE_CHARACTERS.map((character, byte) => [character, byte]));

function byteCharacters(): string[] {
  const printable = (byte: number): boolean =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
  let next = 0x100;
  return Array.from({ length: 256 }, (_, byte) =>
    String.fromCodePoint(printable(byte) ? byte : next++),
  );
}

/** The bytes that a byte-level token stands for; undefined if a character is not of the alphabet. */
export function bytesOfToken(token: string): Uint8Array | undefined {
  const bytes: number[] = [];
  for (const character of token) {
    const byte = CHARACTER_BYTES.get(character);
    if (byte === undefined) return undefined;
    bytes.push(byte);
  }
  return Uint8Array.from(bytes);
}
