/**
 * @file What a stored configuration says in a few words, for lists of runs.
 */
import { parse } from "yaml";

export interface RunFacts {
  readonly algorithm: string;
  readonly world: string;
  readonly model: string;
  readonly seed: string;
}

/** Of a run's config.yaml; what is missing or cannot be read is empty. */
export function factsOf(yaml: string): RunFacts {
  let config: unknown;
  try {
    config = parse(yaml);
  } catch {
    config = {};
  }
  const at = (...path: string[]): string => {
    let value: unknown = config;
    for (const name of path) value = (value as Record<string, unknown> | null | undefined)?.[name];
    return typeof value === "string" || typeof value === "number" ? String(value) : "";
  };
  return {
    algorithm: at("algorithm", "adv_estimator"),
    world: at("env", "env_name"),
    model: at("actor_rollout_ref", "model", "path"),
    seed: at("trainer", "seed"),
  };
}
