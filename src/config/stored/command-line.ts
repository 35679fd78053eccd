/**
 * @file What of a run's configuration is not as it would be anyway, as words of a command line.
 */
import { basename, isAbsolute } from "node:path";
import { parse as parseYaml } from "yaml";
import { isTree, type Plain, type Tree } from "../override.ts";
import { allSettings } from "../tree.ts";

/** Where a run is kept, what hears of it, and when it is saved: no part of what it is. */
const OWN_AFFAIR =
  /^trainer\.(?:default_local_dir|logger|resume_|project_name|experiment_name|threads|save_freq)/;

/**
 * `name=value` of every setting of a record (config.yaml) that differs from its default. For others to read: a
 * path on this machine is only its last part.
 */
export function changedSettings(record: string): string[] {
  const config = parseYaml(record) as Tree;
  return allSettings().flatMap(({ path, defaultValue }) => {
    const value = valueAt(config, path);
    return value === undefined || isUsual(value, defaultValue) || OWN_AFFAIR.test(path)
      ? []
      : words(path, value);
  });
}

function words(path: string, value: Plain): string[] {
  return isTree(value)
    ? Object.entries(value).flatMap(([name, inside]) => words(`${path}.${name}`, inside))
    : [`${path}=${written(value)}`];
}

function valueAt(tree: Tree, path: string): Plain | undefined {
  return path
    .split(".")
    .reduce<Plain | undefined>((inside, name) => (isTree(inside) ? inside[name] : undefined), tree);
}

/** Of settings without a default, nothing, null and empty ones are the usual. */
export function isUsual(value: Plain, usual: unknown): boolean {
  if (usual === undefined) return value === null || JSON.stringify(value) === "{}";
  return JSON.stringify(value) === JSON.stringify(usual);
}

function written(value: Plain): string {
  if (typeof value === "string") return isAbsolute(value) ? `./${basename(value)}` : value;
  if (typeof value === "boolean") return value ? "True" : "False";
  if (value === null) return "None";
  return Array.isArray(value) ? `[${value.map(written).join(",")}]` : String(value);
}
