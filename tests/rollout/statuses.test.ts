/**
 * @file Every way in which an episode can end.
 */
import { describe, expect, it } from "vitest";
import { type AgentOptions, createAgent } from "../../src/agents/index.ts";
import { type Environment, openWorld, type StepResult } from "../../src/environments/index.ts";
import {
  type EpisodeOptions,
  type EpisodeStatus,
  isTrainable,
  type Policy,
  runEpisode,
  TRAINABLE,
} from "../../src/rollout/index.ts";
import { counting, newModelFolder, openChat, tasksOf, temporaryFolder } from "./support.ts";

const chat = openChat(newModelFolder(temporaryFolder()));
const world = await openWorld(counting);
const [task] = await tasksOf(world, 1); // count to 2

/** A policy that says these words, one after the other; the last for ever. */
function saying(...words: readonly string[]): Policy {
  return {
    chat,
    contextLength: 4096,
    replyTokens: 64,
    source: "policy",
    async reply({ turn, maximumTokens, signal }) {
      const text = words[Math.min(turn, words.length - 1)]!;
      const all = [...chat.tokenizer.encode(text), chat.endOfTurnId];
      const ids = all.slice(0, maximumTokens);
      return {
        ids,
        logprobs: ids.map(() => -1),
        sampledLogprobs: ids.map(() => -1),
        finish: signal.aborted ? "abort" : ids.length < all.length ? "length" : "stop",
        stop: null,
        cachedTokens: 0,
        weightsVersion: 3,
        retokenized: false,
      };
    },
    end: () => {},
  };
}

interface Given extends Omit<Partial<EpisodeOptions>, "agent"> {
  agent?: AgentOptions;
}

const play = ({ agent, ...given }: Given) =>
  runEpisode({
    id: "0:train/0#0",
    step: 0,
    group: "0:train/0",
    member: 0,
    task: task!,
    seed: 5n,
    environment: world.environment(),
    about: counting,
    agent: createAgent(agent),
    policy: saying("say 1", "say 2"),
    limits: { turns: 5 },
    ...given,
  });

/** The world's environment with some of it replaced. */
const broken = (parts: Partial<Environment>): Environment => ({ ...world.environment(), ...parts });
const hang = () => new Promise<never>(() => {});
// biome-ignore lint/suspicious/noThenProperty: worlds of users may give anything that can be awaited
const thenable = { then() {} };
const aborted = AbortSignal.abort(new Error("enough"));
const afterwards = () => {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error("stop it")), 30);
  return controller.signal;
};

const CASES: [EpisodeStatus, string, Given, RegExp | undefined][] = [
  ["won", "solved", {}, undefined],
  ["won", "solved with the last turn", { limits: { turns: 2 } }, undefined],
  ["lost", "ended by the world", { policy: saying("drop") }, undefined],
  ["turn limit", "not solved in time", { policy: saying("hm") }, undefined],
  [
    "token limit",
    "too many tokens",
    { policy: saying("hm"), limits: { turns: 5, tokens: 4 } },
    undefined,
  ],
  [
    "context full",
    "a prompt beyond the limit",
    { limits: { turns: 5, promptTokens: 10 } },
    undefined,
  ],
  [
    "context full",
    "a context beyond the model",
    { policy: { ...saying("x"), contextLength: 40 }, limits: { turns: 99 } },
    undefined,
  ],
  [
    "parse failures",
    "nothing to be read",
    { agent: { format: "think-action" }, limits: { turns: 5, parseFailures: 2 } },
    undefined,
  ],
  [
    "environment error",
    "reset throws",
    {
      environment: broken({
        reset: () => {
          throw new Error("no data");
        },
      }),
    },
    /counting: no data/,
  ],
  [
    "environment error",
    "reset rejects",
    { environment: broken({ reset: () => Promise.reject(new Error("gone")) }) },
    /gone/,
  ],
  [
    "environment error",
    "step throws no error",
    {
      environment: broken({
        step: () => {
          throw "odd";
        },
      }),
    },
    /odd/,
  ],
  [
    "environment error",
    "garbage for a result",
    { environment: broken({ step: () => ({}) as StepResult }) },
    /expected an observation/,
  ],
  [
    "environment error",
    "no reset at all",
    { environment: broken({ reset: undefined as never }) },
    /not a function/,
  ],
  [
    "policy error",
    "the model throws",
    {
      policy: {
        ...saying(),
        reply: () => {
          throw new Error("no memory");
        },
      },
    },
    /no memory/,
  ],
  [
    "policy error",
    "the model rejects",
    { policy: { ...saying(), reply: () => Promise.reject(new Error("died")) } },
    /died/,
  ],
  [
    "timeout",
    "the world hangs",
    { environment: broken({ step: hang }), limits: { turns: 5, seconds: 0.05 } },
    /0.05 s were over/,
  ],
  [
    "timeout",
    "the model hangs",
    { policy: { ...saying(), reply: hang }, limits: { turns: 5, seconds: 0.05 } },
    /0.05 s were over/,
  ],
  [
    "timeout",
    "the world is a thenable that hangs",
    {
      environment: broken({ reset: () => thenable as never }),
      limits: { turns: 5, seconds: 0.05 },
    },
    /0.05 s/,
  ],
  ["aborted", "before it began", { signal: aborted }, /enough/],
  [
    "aborted",
    "while the world hangs",
    { environment: broken({ reset: hang }), signal: afterwards() },
    /stop it/,
  ],
  [
    "aborted",
    "before its time was up",
    {
      environment: broken({ reset: hang }),
      signal: afterwards(),
      limits: { turns: 5, seconds: 0.5 },
    },
    /stop it/,
  ],
];

describe.each(["conversation", "steps"] as const)("in the context %s", (context) => {
  it.each(CASES)("%s: %s", async (status, _, { agent, ...given }, message) => {
    // Signals of their own time are made anew for each context.
    const signal = given.signal && (given.signal === aborted ? aborted : afterwards());
    const episode = await play({
      ...given,
      ...(signal && { signal }),
      agent: { ...agent, context },
    });
    expect(episode.status, episode.error).toBe(status);
    expect(episode.won).toBe(status === "won");
    if (message) expect(episode.error).toMatch(message);
    else expect(episode.error).toBeUndefined();
    expect(isTrainable(episode)).toBe(TRAINABLE.has(status) && episode.turns.length > 0);
  });
});

it("all statuses are among the cases", () => {
  const wanted: Record<EpisodeStatus, true> = {
    won: true,
    lost: true,
    "turn limit": true,
    "token limit": true,
    "context full": true,
    "parse failures": true,
    "environment error": true,
    "policy error": true,
    timeout: true,
    aborted: true,
  };
  expect(new Set(CASES.map(([status]) => status))).toEqual(new Set(Object.keys(wanted)));
});

describe("an episode", () => {
  it("keeps what happened, turn by turn", async () => {
    const episode = await play({ policy: saying("say 7", "Say 1.", "say 2") });
    expect(episode).toMatchObject({ status: "won", score: 1, reward: 10, attempts: 1, seed: 5n });
    expect(episode.lastObservation).toBe("You said 2.");
    const facts = episode.turns.map((turn) => [turn.observation, turn.action, turn.admissible]);
    expect(facts).toEqual([
      ["Nothing is said.", "say 7", false],
      ["That is not next.", "say 1", true],
      ["You said 1.", "say 2", true],
    ]);
    expect(episode.turns.map(({ reward }) => reward)).toEqual([0, 0, 10]);
    expect(episode.turns[0]!.reply).toMatchObject({ source: "policy", weightsVersion: 3 });
  });

  it("tells the agent what was wrong with a reply, and the world does not move", async () => {
    const policy = saying("hm", "<think>a</think><action>say 1</action>");
    const agent = { format: "think-action", context: "conversation" } as const;
    const { turns } = await play({ agent, policy, limits: { turns: 2 } });
    expect(turns[0]).toMatchObject({ action: null, reward: 0, admissible: null });
    expect(turns[0]!.problems.map(({ kind }) => kind)).toEqual(["missing", "missing"]);
    expect(turns[1]!.observation).toMatch(/could not be read: there is no <think>/);
    expect(turns[1]!.anchor).toBe(turns[0]!.anchor);
  });

  it("runs tools of the agent's own without moving the world", async () => {
    const note = {
      name: "note",
      description: "",
      parameters: {},
      execute: ({ text }: Readonly<Record<string, unknown>>) => {
        if (text === undefined) throw new Error("nothing to note");
        return `noted ${text}`;
      },
    };
    const call = (name: string, given: object) => JSON.stringify({ name, arguments: given });
    const policy = saying(
      call("note", { text: "x" }),
      call("note", {}),
      call("act", { action: "say 1" }),
      call("act", { action: "say 2" }),
    );
    const episode = await play({ agent: { format: "tools", tools: [note] }, policy });
    expect(episode.status).toBe("won");
    expect(episode.turns.map(({ tool }) => tool)).toEqual([
      { name: "note", failed: false },
      { name: "note", failed: true },
      undefined,
      undefined,
    ]);
    expect(episode.turns[1]!.observation).toBe("noted x");
    expect(episode.turns[2]!.observation).toBe("note failed: nothing to note");
  });

  it("is told what is admissible where the world lists it and does not say", async () => {
    const inner = world.environment();
    const environment: Environment = {
      ...inner,
      step(action) {
        const { admissible: _, ...rest } = inner.step(action) as StepResult;
        return rest;
      },
    };
    const { turns } = await play({ environment, policy: saying("say 9", "say 1") });
    expect(turns.slice(0, 2).map(({ admissible }) => admissible)).toEqual([false, true]);
  });

  it("ends when its conversation has grown too long, with the turns that fitted", async () => {
    const policy = { ...saying("hm"), contextLength: 400 };
    const episode = await play({ policy, limits: { turns: 99 } });
    expect(episode.status).toBe("context full");
    const tokens = episode.turns.flatMap(({ promptIds, reply }) => [...promptIds, ...reply.ids]);
    expect(episode.turns.length).toBeGreaterThan(1);
    expect(tokens.length).toBeLessThanOrEqual(400);
  });

  it("has no room for limits that make no sense", async () => {
    for (const limits of [
      { turns: 0 },
      { turns: 1.5 },
      { turns: 5, seconds: -1 },
      { turns: 5, tokens: Number.NaN },
    ])
      await expect(play({ limits })).rejects.toThrow(
        /episode limits: \w+ must be a number above 0/,
      );
  });

  it.each<[string, unknown]>([
    ["a list that is a text", "say 1"],
    ["a list of numbers", [1, 2]],
    ["null", null],
  ])("blames the world for admissible actions that are %s", async (_, admissible) => {
    const reset = () => ({ text: "x", anchor: "x", info: {}, admissible }) as never;
    const episode = await play({ environment: broken({ reset }) });
    expect(episode.status).toBe("environment error");
    expect(episode.error).toMatch(/admissible actions are .*, expected a list of texts/);
  });

  it("blames the world for a list of actions that cannot be made", async () => {
    const reset = () => ({
      text: "x",
      anchor: "x",
      info: {},
      get admissible(): string[] {
        throw new Error("no list");
      },
    });
    const episode = await play({ environment: broken({ reset }) });
    expect(episode).toMatchObject({ status: "environment error", error: "counting: no list" });
  });

  it.each<[string, unknown]>([
    ["a big number", { x: 1n }],
    ["a function", { x: () => 1 }],
    ["NaN", { x: Number.NaN }],
    [
      "a circle",
      (() => {
        const x: Record<string, unknown> = {};
        x.x = x;
        return x;
      })(),
    ],
  ])("blames the world for info that JSON cannot hold: %s", async (_, info) => {
    const reset = () => ({ text: "x", anchor: "x", info }) as never;
    const episode = await play({ environment: broken({ reset }) });
    expect(episode.error).toMatch(/info is what JSON can hold/);
  });
});
