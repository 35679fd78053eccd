/**
 * @file The kinds whose servers stand for a shop, a database, tools or the web: environments go by
 * "env_idx", and what is wrong is answered with status 500.
 */
import type { Kind } from "../kind.ts";
import {
  booleanIn,
  numberIn,
  numberOf,
  recordOf,
  shown,
  textIn,
  textOf,
  textsOf,
} from "../shape.ts";
import { BARE, OBJECT, observation, PLAIN, SHARE } from "./common.ts";

/** Answers to a reset that are [text, null], and to a step with the text in "state". */
const PAIR = {
  ...BARE,
  readReset: (answer) => ({ text: firstOf(answer), info: {} }),
  readStep: (answer) => ({
    text: textIn(answer, "state"),
    value: numberIn(answer, "reward"),
    done: booleanIn(answer, "done"),
    info: {},
  }),
  writeReset: (_, { observation }) => [observation.text, null],
} as const satisfies Partial<Kind>;

function firstOf(answer: unknown): string {
  if (Array.isArray(answer) && typeof answer[0] === "string") return textOf(answer[0]);
  throw new TypeError(`expected a list that begins with a text, got ${shown(answer)}`);
}

/** Shopping by an instruction. */
export const webshop: Kind = {
  ...PAIR,
  name: "webshop",
  item: "webshop",
  index: { field: "session_id", optional: true },
  reward: { ...PLAIN, winReward: 10 },
  listsAllActions: true,
  actions: {
    route: "available_actions",
    when: "step",
    read: (answer) => [
      ...(booleanIn(answer, "has_search_bar") ? ["search[<your query>]"] : []),
      ...textsOf(recordOf(answer).clickables).map((name) => `click[${name}]`),
    ],
  },
  writeStep: ({ observation, done, score }) => ({
    state: observation.text,
    reward: done ? score : 0,
    done,
    info: null,
  }),
  questions: {
    observation,
    instruction_text: ({ observation }) => observation.instruction ?? "",
    available_actions: ({ observation: { admissible = [] } }) => ({
      has_search_bar: admissible.some((action) => action.startsWith("search[")),
      clickables: admissible.flatMap((action) => /^click\[(.*)\]$/s.exec(action)?.[1] ?? []),
    }),
  },
};

/** A question to a database, as one SQL query. */
export const sqlgym: Kind = {
  ...PAIR,
  name: "sqlgym",
  item: "sqlgym",
  index: { field: "item_id" },
  reward: PLAIN,
  writeStep: ({ observation, reward, done }) => ({
    state: observation.text,
    reward,
    done,
    info: null,
  }),
  questions: { observation },
};

/** Tools behind texts: the model's whole text is the action. */
export const tools = (name: string): Kind => ({
  ...BARE,
  name,
  item: name,
  index: { field: "id", optional: true },
  createsWithTask: true,
  reward: SHARE,
  readReset(answer) {
    if (typeof answer === "string") return { text: textOf(answer), info: {} };
    throw new TypeError(`expected a text, got ${shown(answer)}`);
  },
  writeReset: (_, { observation }) => observation.text,
  writeStep: ({ observation, score, done }) => ({
    observation: observation.text,
    reward: score,
    done,
  }),
  questions: { observation },
});

/** Tasks on web sites. */
export const webarena: Kind = {
  ...OBJECT,
  name: "webarena",
  item: "webarena",
  key: "env_idx",
  index: { field: "idx" },
  resetFields: { seed: 0 },
  errors: "status",
  closes: true,
  reward: PLAIN,
  readCreated: (answer) => numberOf(recordOf(answer).env_idx),
  readStep(answer) {
    const terminated = booleanIn(answer, "terminated");
    return {
      text: textIn(answer, "observation"),
      // Before the end it is not a reward.
      value: terminated ? numberIn(answer, "reward") : 0,
      done: terminated || booleanIn(answer, "truncated"),
      info: {},
    };
  },
  writeCreated: (id) => ({ env_idx: id }),
  writeReset: (_, { observation }) => ({ observation: observation.text, sites: [], object: {} }),
  writeStep: ({ observation, reward, done }) => ({
    observation: observation.text,
    ...{ reward, terminated: done, truncated: false, info: {} },
  }),
  questions: { observation },
};
