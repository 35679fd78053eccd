/**
 * @file Lets Node load TypeScript: that of src/ in a checkout, and a world or a reward of the user's own
 * (./world.ts) in any case. For the command and for the processes that it starts.
 */

import { existsSync } from "node:fs";
import * as nodeModule from "node:module";
import { fileURLToPath } from "node:url";
import { resolve } from "./modules.mjs";

/** Whether src/ is here; where the package is installed, there is dist/. */
export const isCheckout = existsSync(new URL("../src/cli/main.ts", import.meta.url));

/** Where a file of src/ is, given without its ending. */
export function ourFile(name) {
  return new URL(isCheckout ? `../src/${name}.ts` : `../dist/${name}.js`, import.meta.url).href;
}

export async function registerTypeScript() {
  const tsx = await import("tsx/esm/api");
  if (isCheckout) {
    // Its paths say that "openmanus-rl" is src/ here. The variable is for the processes that we start.
    const tsconfig = fileURLToPath(new URL("../tsconfig.json", import.meta.url));
    process.env.TSX_TSCONFIG_PATH ??= tsconfig;
    tsx.register({ tsconfig });
  } else tsx.register();
  // The hook that comes last is asked first, and sees what tsx says. Node 20 has the older way only.
  if (nodeModule.registerHooks) nodeModule.registerHooks({ resolve });
  else nodeModule.register("./modules.mjs", import.meta.url);
}
