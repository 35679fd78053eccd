/**
 * @file The one kind of error that set-up throws on purpose.
 *
 * Its message is written for the person at the terminal (what was wrong, what was expected, what to
 * do) and is printed without a stack; any other error is a bug of ours and keeps its stack.
 */

import { SETUP_COMMAND } from "./package.ts";

export class SetupError extends Error {
  override name = "SetupError";
}

/** The ways to get a libtorch, for the end of every message that says there is none. */
export const HOW_TO_GET_LIBTORCH = [
  "Any one of these gives a libtorch:",
  "  Debian:   apt-get install --no-install-recommends libtorch-dev libgloo-dev libopenblas0-pthread",
  "  Python:   pip install torch            (in an active virtual environment, or any python3 on the PATH)",
  "  By hand:  unpack a libtorch from https://pytorch.org and set OPENMANUS_LIBTORCH to its folder",
  `Then run: ${SETUP_COMMAND}`,
].join("\n");
