/**
 * @file The C++ sources of the addon, and what each depends on among our own headers.
 */

import { readFileSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { SetupError } from "../support/errors.ts";
import { hashOf, isFile, walk } from "../support/files.ts";

export interface Source {
  readonly path: string;
  /** Relative to the sources' folder, for messages. */
  readonly name: string;
  /**
   * The same with that folder's name before it: what the compiler is given, in the folder around it.
   * __FILE__ and the compiler's messages then say "native/…" wherever the checkout lies.
   */
  readonly argument: string;
  /** Changes when the file or any of our headers that it includes changes. */
  readonly hash: string;
  /** Whether it includes all of ATen, itself or through our headers. */
  readonly includesAten: boolean;
  /** Whether it asks if CUDA is linked. */
  readonly asksForCuda: boolean;
}

/** In native/, and no part of the addon: a library of its own that only tests build and load. */
const SEPARATE = "standin";

export function listSources(folder: string): Source[] {
  const paths = walk(folder).files.filter(
    (path) => path.endsWith(".cc") && !relative(folder, path).startsWith(`${SEPARATE}${sep}`),
  );
  if (paths.length === 0) {
    throw new SetupError(`No C++ sources (*.cc) in ${folder}; is the checkout complete?`);
  }
  return paths.map((path) => readSource(path, folder));
}

export function readSource(path: string, folder: string): Source {
  const texts = withHeaders(path, folder).map((file) => readFileSync(file, "utf8"));
  return {
    path,
    name: relative(folder, path),
    argument: join(basename(folder), relative(folder, path)),
    hash: hashOf(...texts),
    asksForCuda: texts.some((text) => text.includes("OPENMANUS_CUDA")),
    includesAten: texts.some((text) => /^[ \t]*#[ \t]*include[ \t]*<ATen\/ATen\.h>/m.test(text)),
  };
}

/** The file and, transitively, every header of ours that it includes with #include "…". */
function withHeaders(path: string, folder: string, seen: Set<string> = new Set()): string[] {
  if (seen.has(path)) return [];
  seen.add(path);
  const includes = readFileSync(path, "utf8").matchAll(/^[ \t]*#[ \t]*include[ \t]*"([^"]+)"/gm);
  return [
    path,
    ...[...includes].flatMap(([, name]) => {
      const header = [join(dirname(path), name!), join(folder, name!)].find(isFile);
      return header ? withHeaders(header, folder, seen) : [];
    }),
  ];
}
