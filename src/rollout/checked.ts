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
  return observation;
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
