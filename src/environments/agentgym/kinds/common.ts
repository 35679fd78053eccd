/**
 * @file What several kinds of environment have in common: how rewards count, the shapes of answers, and
 * what can be asked about an environment.
 */
import type { Kind, RewardRule } from "../kind.ts";
import { booleanIn, numberIn, numberOf, recordOf, textIn } from "../shape.ts";

/** Solved is 1, and what a step earned is what the server says. */
export const PLAIN: RewardRule = {
  counts: "step",
  best: 1,
  won: (value) => value >= 1,
};

/** Numbers from 0 to 1, so far: how much of the task is done. */
export const SHARE: RewardRule = { ...PLAIN, counts: "total" };

/** An answer that is an object with an observation and, mostly, more facts. */
export const OBJECT = {
  prefix: "",
  key: "id",
  errors: "body",
  readCreated: (answer) => numberOf(recordOf(answer).id),
  readReset: (answer) => ({ text: textIn(answer, "observation"), info: {} }),
  readStep: (answer) => ({
    text: textIn(answer, "observation"),
    value: numberIn(answer, "reward"),
    done: booleanIn(answer, "done"),
    info: {},
  }),
  writeCreated: (id) => ({ id }),
  writeReset: (_, { observation }) => ({ observation: observation.text }),
  writeStep: ({ observation, reward, done }) => ({ observation: observation.text, reward, done }),
} as const satisfies Partial<Kind>;

/** Answers with as little around them as possible, and status 500 for what is wrong. */
export const BARE = {
  ...OBJECT,
  key: "env_idx",
  errors: "status",
  readCreated: numberOf,
  writeCreated: (id) => id,
} as const satisfies Partial<Kind>;

export const observation: Kind["questions"][string] = ({ observation }) => observation.text;
export const actions: Kind["questions"][string] = ({ observation }) => observation.admissible ?? [];
export const detail: Kind["questions"][string] = ({ observation, result }) => ({
  observation: observation.text,
  reward: result?.reward ?? 0,
  done: result?.done ?? false,
  deleted: false,
});
