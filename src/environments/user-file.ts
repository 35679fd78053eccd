/**
 * @file Files of one's own that are named in place of what comes with the package: "./world.ts".
 */
import { pathToFileURL } from "node:url";

/** Whether a name is that of a file. */
export function isFileName(name: string): boolean {
  return /\.[cm]?[jt]s$/.test(name);
}

/** What a file exports. Where it cannot be loaded, the error's message says why and what to do. */
export async function importFile(file: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  } catch (error) {
    const { message = String(error), code = "" } = error as Partial<NodeJS.ErrnoException>;
    // What has import and export is loaded as a module, whatever it is called (bin/modules.mjs).
    const isCommonJs =
      ["ERR_REQUIRE_CYCLE_MODULE", "ERR_REQUIRE_ESM"].includes(code) ||
      /^(?:require|module|exports) is not defined/.test(message) ||
      (code === "MODULE_NOT_FOUND" && /^Cannot find module 'openmanus-rl'/.test(message));
    const reason = isCommonJs
      ? "it is written as CommonJS (require, module.exports). Write it as a module, with import and " +
        "export default in their place"
      : `${message.split("\n", 1)[0]!.replace(/\.$/, "")}. Does it run by itself?`;
    throw new Error(reason, { cause: error });
  }
}
