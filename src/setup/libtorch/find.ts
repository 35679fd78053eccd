/**
 * @file Decides which libtorch is used: OPENMANUS_LIBTORCH, else a Python's, else the system's.
 */

import { join, resolve } from "node:path";
import { type Run, runCommand } from "../support/command.ts";
import { SetupError } from "../support/errors.ts";
import { isFile } from "../support/files.ts";
import { describeLibtorch, type Libtorch } from "./libtorch.ts";
import { findPythonTorch } from "./python.ts";

export interface FindOptions {
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly run?: Run;
  /** Where the system's packages put headers and libraries. */
  readonly systemPrefixes?: readonly string[];
}

export interface LibtorchSearch {
  /** Undefined when there is none anywhere; the caller may install one and look again. */
  readonly libtorch: Libtorch | undefined;
  /** What was found and left aside, and why. */
  readonly notes: readonly string[];
  /** Paths whose change may change the answer. */
  readonly watched: readonly string[];
}

/** Throws when OPENMANUS_LIBTORCH names something unusable: a wish is not silently passed over. */
export async function findLibtorch(options: FindOptions = {}): Promise<LibtorchSearch> {
  const environment = options.environment ?? process.env;
  const prefixes = options.systemPrefixes ?? ["/usr", "/usr/local"];
  const wish = environment.OPENMANUS_LIBTORCH;
  const notes: string[] = [];
  const watched: string[] = [];

  const found = (libtorch: Libtorch | undefined): LibtorchSearch => {
    if (libtorch) watched.push(libtorch.libDir, join(libtorch.libDir, "libtorch_cpu.so"));
    return { libtorch, notes, watched };
  };
  const attempt = (folder: string, origin: Libtorch["origin"], name: string) => {
    try {
      return describeLibtorch(folder, origin);
    } catch (error) {
      if (!(error instanceof SetupError)) throw error;
      notes.push(`not using ${name}: ${error.message.split("\n")[0]}`);
      return undefined;
    }
  };

  if (wish && wish !== "system") return found(fromEnvironment(wish));

  if (wish !== "system") {
    const search = await findPythonTorch(environment, options.run ?? runCommand);
    watched.push(...search.watched);
    if (search.torch) {
      watched.push(join(search.torch.folder, "version.py"));
      const libtorch = attempt(
        search.torch.folder,
        "python",
        `the torch of ${search.torch.python}`,
      );
      if (libtorch) return found(libtorch);
    }
  }

  for (const prefix of prefixes) {
    const header = join(prefix, "include/ATen/ATen.h");
    watched.push(header);
    // Nothing of libtorch there is the usual case and no news; half of one is worth a note.
    if (!isFile(header)) continue;
    const libtorch = attempt(prefix, "system", `the system's libtorch in ${prefix}`);
    if (libtorch) return found(libtorch);
  }
  return found(undefined);
}

function fromEnvironment(folder: string): Libtorch {
  try {
    return describeLibtorch(resolve(folder), "environment");
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    throw new SetupError(
      `OPENMANUS_LIBTORCH=${folder} cannot be used. ${error.message}\n` +
        "Correct it, or unset it to use a Python's torch or the system's libtorch (\"system\" skips Python).",
    );
  }
}
