/**
 * @file The target of a name.
 */
import type { Target } from "../target.ts";
import { PLANTED_FILE, TARGET_FILES, type TargetName } from "./names.ts";

export async function targetNamed(name: string): Promise<Target> {
  const file = name.startsWith(PLANTED_FILE) ? PLANTED_FILE : TARGET_FILES[name as TargetName];
  const { targets } = (await import(`./${file}.ts`)) as { targets: readonly Target[] };
  const target = targets.find((one) => one.name === name);
  if (!target) throw new Error(`targets/${file}.ts has no target ${name}`);
  return target;
}
