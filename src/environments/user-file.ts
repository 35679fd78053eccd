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
    // Node takes a .ts or .js for CommonJS where no package.json says otherwise.
    const reason = ["ERR_REQUIRE_CYCLE_MODULE", "ERR_REQUIRE_ESM"].includes(code)
      ? 'Node takes it for CommonJS. Name it .mts, or put a package.json with "type": "module" beside it.'
      : `${message}. Does it run by itself?`;
    throw new Error(reason, { cause: error });
  }
}
