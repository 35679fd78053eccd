/**
 * @file Does a world keep its promises? A world of a user's, or one behind a server or in another process, may
 * give anything: what is not an observation becomes an error of the world here, not a mystery later.
 *
 * What comes out is a copy. Each field was read once: no getter, proxy or later change of the world's can
 * reach an episode.
 */
import { EnvironmentError, type Observation, type StepResult } from "../environment.ts";
import { type JsonBounds, JsonProblem, jsonCopy } from "./json-copy.ts";
import { messageOf, shown } from "./message.ts";

/** Characters of an observation's text, its anchor and its instruction each, where nobody says otherwise. */
export const OBSERVATION_CHARACTERS = 200_000;
/** A reward is no larger than this, either way: sums and squares of such numbers stay numbers. */
export const LARGEST_REWARD = 1e6;

/** Actions of a list, and characters of all of them together. */
const MOST_ACTIONS = 50_000;
const ACTION_CHARACTERS = 2_000_000;
const INFO: JsonBounds = { characters: 1_000_000, values: 100_000 };
/** A score may miss 0 and 1 by rounding. */
const ROUNDING = 1e-9;

export function checkedObservation(
  world: string,
  given: unknown,
  place: string,
  longest = OBSERVATION_CHARACTERS,
): Observation {
  return reading(world, place, () => {
    if (typeof given !== "object" || given === null)
      throw wrong(world, place, "expected an observation", given);
    const { text, anchor, instruction, info } = given as Observation;
    const checked = {
      text: checkedText(world, place, "text", text, longest),
      anchor: checkedText(world, place, "anchor", anchor, longest),
      info: checkedInfo(world, place, info),
      ...(instruction !== undefined &&
        instruction !== null && {
          instruction: checkedText(world, place, "instruction", instruction, longest),
        }),
    };
    return "admissible" in given ? withActions(world, checked, given as Observation) : checked;
  });
}

/** The list is made when first asked for, because it may be work, and is checked then. */
function withActions(
  world: string,
  observation: Omit<Observation, "admissible">,
  given: Observation,
): Observation {
  let asked = false;
  let list: readonly string[] | undefined;
  return {
    ...observation,
    get admissible() {
      list = asked ? list : checkedActions(world, given);
      asked = true;
      return list;
    },
  };
}

function checkedActions(world: string, given: Observation): readonly string[] | undefined {
  const { admissible } = given;
  if (admissible === undefined) return undefined;
  const refuse = (found: string, expected: string) =>
    new EnvironmentError(
      world,
      `an observation's admissible actions are ${found}, expected ${expected}.`,
    );
  if (!Array.isArray(admissible)) throw refuse(shown(admissible), "a list of texts");
  const { length } = admissible;
  if (length > MOST_ACTIONS) throw refuse(`${length} texts`, `at most ${MOST_ACTIONS}`);
  let characters = 0;
  return Array.from({ length }, (_, i) => {
    const action: unknown = admissible[i];
    if (typeof action !== "string") throw refuse("an object", "a list of texts");
    characters += action.length;
    if (characters > ACTION_CHARACTERS)
      throw refuse(
        `more than ${ACTION_CHARACTERS} characters`,
        `at most ${ACTION_CHARACTERS} in all`,
      );
    return action;
  });
}

export function checkedResult(
  world: string,
  given: unknown,
  longest = OBSERVATION_CHARACTERS,
): StepResult {
  const place = "step()";
  return reading(world, place, () => {
    const refuse = (what: string, value: unknown) => wrong(world, place, what, value);
    if (typeof given !== "object" || given === null)
      throw refuse("expected a step's result", given);
    const { observation, reward, score, done, won, lost, admissible } = given as StepResult;
    const seen = checkedObservation(world, observation, place, longest);
    if (!Number.isFinite(reward)) throw refuse("expected a finite reward", reward);
    if (Math.abs(reward) > LARGEST_REWARD)
      throw refuse(`expected a reward from -${LARGEST_REWARD} to ${LARGEST_REWARD}`, reward);
    if (!Number.isFinite(score)) throw refuse("expected a finite score", score);
    if (score < -ROUNDING || score > 1 + ROUNDING)
      throw refuse("expected a score from 0 to 1", score);
    if (typeof done !== "boolean") throw refuse("expected done: true or false", done);
    if (typeof won !== "boolean") throw refuse("expected won: true or false", won);
    if (won && lost)
      throw new EnvironmentError(world, `${place} gave won and lost, expected one of them.`);
    return {
      observation: seen,
      reward,
      done,
      won,
      ...(lost && { lost: true }),
      ...(typeof admissible === "boolean" && { admissible }),
      score,
    };
  });
}

function checkedText(
  world: string,
  place: string,
  name: string,
  value: unknown,
  longest: number,
): string {
  if (typeof value !== "string")
    throw new EnvironmentError(
      world,
      `${place} gave an observation whose ${name} is ${shown(value)}, expected a string.`,
    );
  if (value.length > longest)
    throw new EnvironmentError(
      world,
      `${place} gave an observation whose ${name} has ${value.length} characters; at most ${longest} are ` +
        "taken (env.max_observation_characters).",
    );
  return value;
}

function checkedInfo(world: string, place: string, info: unknown): Observation["info"] {
  if (info === undefined || info === null) return {};
  try {
    if (typeof info === "object" && !Array.isArray(info))
      return jsonCopy(info, INFO) as Observation["info"];
  } catch (error) {
    if (!(error instanceof JsonProblem)) throw error;
    throw wrong(world, place, `expected an observation whose info is ${error.message}`, info);
  }
  throw wrong(world, place, "expected an observation whose info is what JSON can hold", info);
}

function wrong(world: string, place: string, what: string, value: unknown): EnvironmentError {
  return new EnvironmentError(world, `${place} gave ${shown(value)}, ${what}.`, {
    kind: "garbage",
  });
}

/** Reading somebody else's object may be a call of their code. */
function reading<Value>(world: string, place: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (error instanceof EnvironmentError) throw error;
    throw new EnvironmentError(
      world,
      `${place} gave something that cannot be read: ${messageOf(error)}`,
      { cause: error, kind: "garbage" },
    );
  }
}
