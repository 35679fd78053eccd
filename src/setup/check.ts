/**
 * @file What is there of what set-up needs, without installing or building anything: for doctor.
 */

import { findCompiler } from "./compile/compiler.ts";
import { findLibtorch } from "./libtorch/find.ts";
import type { Libtorch } from "./libtorch/libtorch.ts";
import { type Run, runCommand } from "./support/command.ts";
import { SetupError } from "./support/errors.ts";

export interface SetupCheck {
  /** Null when there is none. */
  readonly libtorch: Libtorch | null;
  /** The compiler's version line, or null. */
  readonly compiler: string | null;
  /** What is missing or was left aside, and why. */
  readonly notes: readonly string[];
}

export async function checkSetup(
  environment: Readonly<Record<string, string | undefined>> = process.env,
  run: Run = runCommand,
): Promise<SetupCheck> {
  const notes: string[] = [];
  /** A wish that cannot be met ends set-up; here it is one more thing to say. */
  const attempt = async <Found>(what: string, work: () => Promise<Found | undefined>) => {
    try {
      const found = await work();
      if (found === undefined) notes.push(`There is no ${what}; set-up installs one on Debian.`);
      return found ?? null;
    } catch (error) {
      if (!(error instanceof SetupError)) throw error;
      notes.push(error.message);
      return null;
    }
  };
  const libtorch = await attempt("libtorch", async () => {
    const search = await findLibtorch({ environment, run });
    notes.push(...search.notes);
    return search.libtorch;
  });
  const compiler = await attempt("C++ compiler", () => findCompiler(environment, run));
  return { libtorch, compiler: compiler?.version ?? null, notes };
}
