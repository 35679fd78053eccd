/**
 * @file `openmanus-rl setup`: what `npm run setup` does in a checkout, also where the package is
 * installed.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { options } from "../arguments/usage.ts";
import type { Command } from "../main.ts";

export const setup: Command = {
  help: [
    "Usage: openmanus-rl setup",
    "",
    "Finds a libtorch (OPENMANUS_LIBTORCH, the torch of your python3, the system's) and a C++ compiler,",
    "installs what is missing by package name (apt-get, as root or with sudo), and builds the native",
    "addon. Takes no time when there is nothing to do.",
    "",
    "Builds are kept in ~/.cache/openmanus-rl, so that the next project does not compile again;",
    "OPENMANUS_CACHE names another folder. CXX chooses the compiler.",
    "",
    "Example: OPENMANUS_LIBTORCH=/path/to/venv openmanus-rl setup",
  ].join("\n"),
  run(words) {
    options(words, {});
    // A program of its own: it must run before any package is there, and lets one set-up run at a time.
    const bootstrap = fileURLToPath(new URL("../../../bin/bootstrap.mjs", import.meta.url));
    return spawnSync(process.execPath, [bootstrap], { stdio: "inherit" }).status ?? 1;
  },
};
