/**
 * @file What commands write, and the only place where they do: much of it are words of worlds, models and
 * servers, and none of them may command the terminal.
 */
import { visible, withoutCredentials } from "../../spelling/index.ts";

export function print(text = ""): void {
  console.log(visible(text));
}

/** Without an end of line: an answer while it is written. */
export function printPiece(text: string): void {
  process.stdout.write(visible(text));
}

/** To standard error. Messages name addresses, which may have passwords. */
export function printError(text: string): void {
  console.error(visible(withoutCredentials(text)));
}

/** With colours of our own. Whoever made it has made everything else in it visible. */
export function printColoured(text: string): void {
  console.log(text);
}
