/**
 * @file Every kind of AgentGym's servers, as its documents say that it talks: what we send, and what we
 * make of the answers.
 */
import { describe, expect, it } from "vitest";
import { KIND_NAMES } from "../../../src/environments/agentgym/kinds/index.ts";
import { openWorld, type StepResult } from "../../../src/environments/index.ts";
import { type Asked, fakeServer } from "./fake-server.ts";

interface Talk {
  /** By route: what the server answers; a list answers one after the other. */
  readonly answers: Readonly<Record<string, unknown>>;
  /** What a create, a reset of task 7 and a step are, without queries for actions. */
  readonly requests: readonly [string, unknown][];
  readonly text: string;
  readonly admissible?: readonly string[];
  /** Of the two steps: one on the way, one at the end. */
  readonly steps: readonly [Partial<StepResult>, Partial<StepResult>];
}

const going = { done: false, won: false };
const solved = { done: true, won: true, score: 1 };

/** Servers whose environments have an "id" and whose answers have an "observation". */
const plainSteps = [
  { observation: "one", reward: 0, done: false },
  { observation: "two", reward: 1, done: true },
];
const plain = (prefix: string, reset: object, requests: object): Talk => ({
  answers: {
    [`${prefix}/create`]: { id: 4 },
    [`${prefix}/reset`]: { id: 4, observation: "begin", ...reset },
    [`${prefix}/step`]: plainSteps,
  },
  requests: [
    [`${prefix}/create`, {}],
    [`${prefix}/reset`, { id: 4, ...requests }],
    [`${prefix}/step`, { id: 4, action: "act" }],
  ],
  text: "begin",
  steps: [
    { ...going, reward: 0, score: 0 },
    { ...solved, reward: 1 },
  ],
});
const maze = plain("/maze", {}, { game: 7 });
const wordle = plain("/wordle", {}, { seed: 7 });

/** The tools: bare numbers and texts, and shares of the task that is done. */
const tools: Talk = {
  answers: {
    "/create": 4,
    "/reset": "begin",
    "/step": [
      { observation: "one", reward: 0.5, done: false },
      { observation: "two", reward: 1, done: true, info: null },
    ],
  },
  requests: [
    ["/create", { id: 7 }],
    ["/reset", { env_idx: 4, id: 7 }],
    ["/step", { env_idx: 4, action: "act" }],
  ],
  text: "begin",
  steps: [
    { ...going, reward: 0.5, score: 0.5 },
    { ...solved, reward: 0.5 },
  ],
};

const TALKS: Readonly<Record<string, Talk>> = {
  alfworld: {
    ...plain("", {}, {}),
    answers: {
      "/create": { id: 4 },
      "/reset": {
        ...{ id: 4, observation: "begin", available_actions: ["look"], task_type: "pick/trial" },
      },
      "/step": plainSteps.map((step) => ({ ...step, available_actions: ["look"] })),
    },
    requests: [
      ["/create", {}],
      ["/reset", { id: 4, game: 7, world_type: "Text" }],
      ["/step", { id: 4, action: "act" }],
    ],
    admissible: ["look"],
    steps: [
      { ...going, reward: 0, score: 0 },
      { ...solved, reward: 10 },
    ],
  },
  webshop: {
    answers: {
      "/create": 4,
      "/reset": ["begin", null],
      "/step": [
        { state: "one", reward: 0, done: false, info: null },
        { state: "two", reward: 0.6, done: true, info: null },
      ],
      "/available_actions": { has_search_bar: true, clickables: ["search", "Buy Now"] },
    },
    requests: [
      ["/create", {}],
      ["/reset", { env_idx: 4, session_id: 7 }],
      ["/step", { env_idx: 4, action: "act" }],
    ],
    text: "begin",
    admissible: ["search[<your query>]", "click[search]", "click[Buy Now]"],
    steps: [
      { ...going, reward: 0, score: 0 },
      { done: true, won: false, lost: true, reward: 0, score: 0.6 },
    ],
  },
  textcraft: plain("", { done: false, reward: 0 }, { data_idx: 7 }),
  babyai: {
    ...plain("", {}, { data_idx: 7 }),
    answers: {
      "/create": { id: 4 },
      "/reset": {
        observation: 'Your goal: go\nAvailable actions: ["turn left", "check available actions"]',
        ...{ reward: 0, score: 0, deleted: false, done: false },
      },
      "/step": [
        { observation: "one", reward: 0, score: 0, done: false },
        { observation: "two", reward: 0.9, score: 0.9, done: true },
      ],
    },
    text: 'Your goal: go\nAvailable actions: ["turn left", "check available actions"]',
    admissible: ["turn left", "check available actions"],
    steps: [
      { ...going, reward: 0, score: 0 },
      { ...solved, reward: 0.9, score: 0.9 },
    ],
  },
  sciworld: {
    ...plain("", {}, { data_idx: 7 }),
    answers: {
      "/create": { id: 4 },
      "/reset": {
        ...{ task_name: "boil", var_num: 3, task_description: "Boil it.", observation: "begin" },
        ...{ reward: 0, score: 0, deleted: false, done: false },
      },
      "/step": [
        { observation: "one", reward: 30, score: 30, done: false },
        { observation: "two", reward: 70, score: 100, done: true },
      ],
      "/action_hint": { possible_actions: ["look around", "open OBJ"], possible_objects: ["door"] },
    },
    text: "Boil it.\nbegin",
    admissible: ["look around", "open <object>"],
    steps: [
      { ...going, reward: 30, score: 0.3 },
      { ...solved, reward: 70 },
    ],
  },
  maze: {
    ...maze,
    answers: { ...maze.answers, "/maze/available_actions": ["move up"] },
    admissible: ["move up"],
  },
  wordle: {
    ...wordle,
    answers: { ...wordle.answers, "/wordle/filtered_vocab": ["stone", "crane"] },
    admissible: ["s t o n e", "c r a n e"],
  },
  sqlgym: {
    answers: {
      "/create": 4,
      "/reset": ["begin", null],
      "/step": [
        { state: "one", reward: 0, done: false, info: { ground_truth: "SELECT 1" } },
        { state: "two", reward: 1, done: true, info: { ground_truth: "SELECT 1" } },
      ],
    },
    requests: [
      ["/create", {}],
      ["/reset", { env_idx: 4, item_id: 7 }],
      ["/step", { env_idx: 4, action: "act" }],
    ],
    text: "begin",
    steps: [
      { ...going, reward: 0 },
      { ...solved, reward: 1 },
    ],
  },
  ...{ movie: tools, weather: tools, todo: tools, academia: tools, sheet: tools, searchqa: tools },
  webarena: {
    answers: {
      "/create": { env_idx: 4 },
      "/reset": { observation: "begin", sites: ["shop"], object: {} },
      "/step": [
        { observation: "one", reward: 0.5, terminated: false, truncated: false, info: {} },
        { observation: "two", reward: 1, terminated: true, truncated: false, info: {} },
      ],
    },
    requests: [
      ["/create", {}],
      ["/reset", { env_idx: 4, idx: 7, seed: 0 }],
      ["/step", { env_idx: 4, action: "act" }],
    ],
    text: "begin",
    steps: [
      { ...going, reward: 0 },
      { ...solved, reward: 1 },
    ],
  },
};

const CLOSING = ["textcraft", "babyai", "sciworld", "searchqa", "webarena"];

it("is every kind", () => {
  expect(Object.keys(TALKS).sort()).toEqual([...KIND_NAMES].sort());
});

describe.each(Object.entries(TALKS))("%s", (kind, talk) => {
  it("is asked and understood as its server talks", async () => {
    const counts: Record<string, number> = {};
    const server = await fakeServer(({ path }) => {
      const route = path.split("?")[0]!;
      if (route.endsWith("/close")) return true;
      const answer = talk.answers[route];
      const count = counts[route] ?? 0;
      counts[route] = count + 1;
      return route.endsWith("/step") ? (answer as unknown[])[count] : answer;
    });
    const world = await openWorld("agentgym", { url: server.url, kind, retries: 0, first: 5 });
    const environment = world.environment();
    const task = (await world.tasks("train")).task(2);
    expect(task.data).toEqual({ index: 7 });
    const observation = await environment.reset(task);
    expect(observation).toMatchObject({ text: talk.text, anchor: talk.text });
    expect(observation.admissible).toEqual(talk.admissible);
    expect(await environment.step("act")).toMatchObject({
      ...talk.steps[0],
      observation: { text: "one" },
    });
    expect(await environment.step("act")).toMatchObject({
      ...talk.steps[1],
      observation: { text: "two" },
    });
    // After the end nothing is asked: most servers would refuse.
    const before = server.asked.length;
    expect(await environment.step("act")).toMatchObject({ ...talk.steps[1], reward: 0 });
    expect(server.asked.length).toBe(before);

    const posts = server.asked.filter(({ method }) => method === "POST");
    const [create, reset, step] = talk.requests.map(([path, body]) => ({ path, body }));
    expect(posts).toMatchObject([create, reset, step, step] as Partial<Asked>[]);
    const isClosed = () => server.asked.some(({ path }) => path.endsWith("/close"));
    await environment.close?.();
    expect(isClosed()).toBe(CLOSING.includes(kind));
    await world.close?.();
    expect(isClosed()).toBe(true);
  });
});

describe("an address", () => {
  it("may have the kind's prefix or not", async () => {
    for (const end of ["", "/", "/maze", "/maze/"]) {
      const world = await openWorld("agentgym", { url: `http://127.0.0.1:9${end}`, kind: "maze" });
      expect(world.source).toBe("maze at http://127.0.0.1:9/maze");
    }
  });

  it.each(["nowhere", "ftp://127.0.0.1", ""])("%j is refused", async (url) => {
    await expect(openWorld("agentgym", { url })).rejects.toThrow(/url must be like http/);
  });
});
