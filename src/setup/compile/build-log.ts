/**
 * @file The log of one build, and the message when it fails.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SetupError } from "../support/errors.ts";
import { SETUP_COMMAND } from "../support/package.ts";
import type { Target } from "./compiler.ts";
import { firstError } from "./diagnosis.ts";

/** The full text of one build, for when the short message is not enough. */
export class BuildLog {
  readonly path: string;
  #text: string;

  constructor(path: string, version: string, folder: string) {
    this.path = path;
    this.#text = `${new Date().toISOString()} libtorch ${version}, in ${folder}\n`;
  }

  add(command: string, args: readonly string[], output: string): void {
    this.#text += `\n$ ${command} ${args.join(" ")}\n${output}`;
    mkdirSync(join(this.path, ".."), { recursive: true });
    writeFileSync(this.path, this.#text);
  }

  failure(what: string, output: string, target: Target): SetupError {
    const indented = firstError(output).replaceAll(/^/gm, "  ");
    return new SetupError(
      `${what} failed:\n${indented}\n` +
        `Built against ${describeTarget(target)} in ${target.libtorch.root}. ` +
        "If you changed native/, correct it there. If you did not, this libtorch may be one that " +
        "native/ does not know yet: choose another with OPENMANUS_LIBTORCH (a folder, or system).\n" +
        `Then run: ${SETUP_COMMAND}. The full log: ${this.path}`,
    );
  }
}

/** For messages. */
export function describeTarget({ libtorch, linkCuda }: Target): string {
  return `libtorch ${libtorch.version} (${libtorch.origin}${linkCuda ? ", CUDA" : ""})`;
}
