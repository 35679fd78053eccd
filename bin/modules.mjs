/**
 * @file Files of a user's that are ES modules are loaded as such, whatever their names end in (.ts, .cts,
 * .js, .cjs), and also where package.json does not say so (npm init does not), or says otherwise.
 *
 * tsx and Node 20 go by package.json alone and would load them as CommonJS, with a second copy of this library
 * behind it: its errors and its registry would not be the ones that the command knows. Newer versions of Node
 * look at the file as well, as this does.
 */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A hook of node:module, for Node's thread of hooks (a promise comes back) and without (a value). */
export function resolve(specifier, context, next) {
  const found = next(specifier, context);
  return found instanceof Promise ? found.then(asModule) : asModule(found);
}

function asModule(found) {
  const isOurs = /^file:.*\.c?[jt]s$/.test(found.url) && !found.url.includes("/node_modules/");
  if (!isOurs || !found.format?.startsWith("commonjs")) return found;
  const text = readFileSync(fileURLToPath(found.url), "utf8");
  // import() is of both kinds.
  const isModule = /^\s*(?:export\b|import\b(?!\s*\())/m.test(text);
  const isCommonJs = /\bmodule\.exports\b|\bexports\.\w+ *=/.test(text);
  return isModule && !isCommonJs ? { ...found, format: "module" } : found;
}
