/**
 * @file Does a world keep its promises? A world of a user's, or one behind a server, may give anything:
 * what is not an observation becomes an error of the world here, not a mystery later.
 */
import { EnvironmentError, type Observation, type StepResult } from "../environments/index.ts";

export function checkedObservation(world: string, given: unknown, place: string): Observation {
  const observation = given as Observation;
  const wrong = (what: string, value: unknown): never => {
    throw new EnvironmentError(world, `${place} gave ${what}, not ${shown(value)}.`);
  };
  if (typeof given !== "object" || given === null) return wrong("expected an observation", given);
  if (typeof observation.text !== "string")
    return wrong("expected an observation whose text is a string", observation.text);
  if (typeof observation.anchor !== "string")
    return wrong("expected an observation whose anchor is a string", observation.anchor);
  if (!isJson(observation.info ?? {}, 0))
    return wrong("expected an observation whose info is what JSON can hold", observation.info);
  return observation;
}

/** The admissible actions, where the world lists them. Not among the above, because it may be work. */
export function checkAdmissible(world: string, { admissible }: Observation): void {
  if (admissible === undefined) return;
  if (!Array.isArray(admissible) || admissible.some((action) => typeof action !== "string"))
    throw new EnvironmentError(
      world,
      `an observation's admissible actions are ${shown(admissible)}, expected a list of texts.`,
    );
}

/** Deeper facts than this are taken for a circle. */
const DEEPEST = 64;

function isJson(value: unknown, depth: number): boolean {
  if (value === null || ["string", "boolean", "undefined"].includes(typeof value)) return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || depth > DEEPEST) return false;
  return Object.values(value).every((part) => isJson(part, depth + 1));
}

export function checkedResult(world: string, given: unknown): StepResult {
  const result = given as StepResult;
  const wrong = (what: string, value: unknown): never => {
    throw new EnvironmentError(world, `step() gave ${what}, not ${shown(value)}.`);
  };
  if (typeof given !== "object" || given === null) return wrong("expected a step's result", given);
  checkedObservation(world, result.observation, "step()");
  if (!Number.isFinite(result.reward)) return wrong("expected a finite reward", result.reward);
  if (!Number.isFinite(result.score)) return wrong("expected a finite score", result.score);
  if (typeof result.done !== "boolean") return wrong("expected done: true or false", result.done);
  if (typeof result.won !== "boolean") return wrong("expected won: true or false", result.won);
  return result;
}

function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 60));
  if (typeof value === "object" && value !== null) return "an object";
  return String(value);
}
