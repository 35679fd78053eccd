/**
 * @file Gives typedoc the TypeScript that it can use: version 6, which is installed beside ours as
 * "typescript-6". typedoc needs the compiler's programming interface, which TypeScript 7 does not have.
 *
 * Plain JavaScript: it is loaded before anything that could read TypeScript.
 */
import { register } from "node:module";

register("./typescript-6-hooks.mjs", import.meta.url);
