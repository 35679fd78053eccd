/**
 * @file Installs Debian packages by name, when nothing else gives what set-up needs.
 */

import type { CommandResult, Run } from "../support/command.ts";
import { HOW_TO_GET_LIBTORCH, SetupError } from "../support/errors.ts";
import { SETUP_COMMAND } from "../support/package.ts";

/** Without OpenBLAS, apt would take the reference BLAS, which is some forty times slower. */
export const LIBTORCH_PACKAGES = ["libtorch-dev", "libgloo-dev", "libopenblas0-pthread"];
export const COMPILER_PACKAGES = ["g++"];

export interface AptMachine {
  readonly run: Run;
  readonly userId: number;
  readonly report: (line: string) => void;
}

/** Installs the packages, or throws a SetupError that says exactly what to type. */
export async function installPackages(names: readonly string[], machine: AptMachine) {
  const { run, report } = machine;
  const list = names.join(" ");
  if ((await run("apt-get", ["--version"])).status !== 0) {
    throw new SetupError(
      `Missing: ${list} (or what gives the same), and this system has no apt-get to install it.\n` +
        `${HOW_TO_GET_LIBTORCH}\nA C++ compiler (g++) is needed as well.`,
    );
  }

  const prefix = await privilege(machine);
  if (prefix === undefined) {
    throw new SetupError(
      `Missing: ${list}. Installing it needs root, and sudo asks for a password here. Type:\n` +
        `  sudo apt-get update && sudo apt-get install --no-install-recommends ${list}\n` +
        `Then run: ${SETUP_COMMAND}`,
    );
  }
  const apt = (...args: string[]): Promise<CommandResult> => {
    // `env` because sudo drops variables; the timeout waits for another apt-get to finish.
    const command = [...prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"];
    const options = ["-o", "DPkg::Lock::Timeout=600", "-q", "-y"];
    return run(command[0]!, [...command.slice(1), ...options, ...args]);
  };
  const update = async () => {
    report("apt-get update …");
    await apt("update");
  };
  const install = () => apt("install", "--no-install-recommends", ...names);

  const known = await everyPackageKnown(names, run);
  if (!known) await update();
  report(`apt-get install ${list} …`);
  const started = performance.now();
  let result = await install();
  if (result.status !== 0 && known) {
    // Old package lists name versions that the mirror no longer has.
    await update();
    result = await install();
  }
  if (result.status !== 0) {
    const reason = result.stderr.trim().split("\n").slice(-4).join("\n  ");
    throw new SetupError(`apt-get could not install ${list}:\n  ${reason}\n${HOW_TO_GET_LIBTORCH}`);
  }
  report(`installed ${list} in ${Math.round((performance.now() - started) / 1000)} s`);
}

/** What to put before a command to run it as root: nothing, sudo, or undefined when we may not. */
async function privilege({ run, userId }: AptMachine): Promise<string[] | undefined> {
  if (userId === 0) return [];
  return (await run("sudo", ["-n", "true"])).status === 0 ? ["sudo", "-n"] : undefined;
}

/** On a fresh container the package lists are empty, and every package is unknown. */
async function everyPackageKnown(names: readonly string[], run: Run): Promise<boolean> {
  const { stdout } = await run("apt-cache", ["policy", ...names], {
    environment: { LC_ALL: "C" },
  });
  const candidates = stdout.match(/^ {2}Candidate: (?!\(none\))/gm) ?? [];
  return candidates.length === names.length;
}
