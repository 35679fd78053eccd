/**
 * @file TypeScript files that are ES modules are loaded as such, also where package.json does not say
 * so (npm init does not).
 *
 * tsx goes by package.json alone and would load a user's world.ts as CommonJS, with a second copy of
 * this library behind it: its errors and its registry would not be the ones that the command knows.
 * Newer versions of Node look at the file as well, as this does.
 */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A hook of node:module, for Node's thread of hooks (a promise comes back) and without (a value). */
export function resolve(specifier, context, next) {
  const found = next(specifier, context);
  return found instanceof Promise ? found.then(asModule) : asModule(found);
}

function asModule(found) {
  const isOurs = /^file:.*\.ts$/.test(found.url) && !found.url.includes("/node_modules/");
  if (!isOurs || !found.format?.startsWith("commonjs")) return found;
  const text = readFileSync(fileURLToPath(found.url), "utf8");
  // import() is of both kinds.
  const isModule = /^\s*(?:export\b|import\b(?!\s*\())/m.test(text);
  return isModule ? { ...found, format: "module" } : found;
}
