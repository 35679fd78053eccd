/**
 * @file What nobody but its owner is to read: names and passwords in addresses, keys in what servers say.
 * For whatever is shown, or written into a file.
 */

export const HIDDEN = "…";

/** What stands before the last @ of an address's host: `http://user:password@host`. */
const BEFORE_HOST = /(:\/\/)[^\s/?#"'<>]*@/g;
/** `?api_key=…`, `&access_token=…`. */
const IN_QUERY =
  /([?&][\w-]{0,30}(?:key|token|secret|password|signature|credential)[\w-]{0,30}=)[^&#\s"'<>]+/gi;

/** The text, with the addresses in it as they may be shown. */
export function withoutCredentials(text: string): string {
  return text.replace(BEFORE_HOST, `$1${HIDDEN}@`).replace(IN_QUERY, `$1${HIDDEN}`);
}

/** The text without a key: a server may repeat what it was sent. */
export function withoutKey(text: string, key: string | undefined): string {
  return withoutCredentials(key ? text.replaceAll(key, HIDDEN) : text);
}
