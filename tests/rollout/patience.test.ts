/**
 * @file How patient episodes are: with worlds and tools that do not answer, with experts that say nothing, with
 * texts that are far too long, and when the run is to end.
 */
import { describe, expect, it, vi } from "vitest";
import { createAgent } from "../../src/agents/index.ts";
import {
  type Environment,
  EnvironmentError,
  type Expert,
  type World,
} from "../../src/environments/index.ts";
import { Tokenizer } from "../../src/models/index.ts";
import { type CollectOptions, collect, scriptedPolicy } from "../../src/rollout/index.ts";
import { countingRollout, newModelFolder, openChat, temporaryFolder } from "./support.ts";

const chat = openChat(newModelFolder(temporaryFolder()));
const never = new Promise<never>(() => {});

/** The counting world, with some of its environments' functions replaced; `made` counts environments. */
async function rollout(
  change: (environment: Environment, made: number) => Partial<Environment>,
  more: Partial<CollectOptions> = {},
): Promise<CollectOptions> {
  const options = await countingRollout(chat, 2);
  let made = 0;
  const world: World = {
    ...options.world,
    environment: () => {
      const inner = options.world.environment();
      return { ...inner, ...change(inner, made++) };
    },
  };
  return { ...options, world, ...more };
}

describe("an answer that does not come", () => {
  it.each(["reset", "step"] as const)(
    "is an error of the world, and tried again: %s",
    async (what) => {
      const options = await rollout((_, made) => (made === 0 ? { [what]: () => never } : {}));
      const { account, all } = await collect({
        ...options,
        limits: { turns: 10, stepSeconds: 0.3 },
        retries: 1,
      });
      expect(account.statuses).toEqual({ won: 2 });
      expect(all.map(({ attempts }) => attempts)).toEqual([2, 1]);
      const hopeless = await rollout(() => ({ [what]: () => never }));
      const limits = { turns: 10, stepSeconds: 0.1 };
      const { account: lost } = await collect({ ...hopeless, limits, retries: 0 });
      expect(lost.errors[0]).toMatch(
        `environment error: counting: ${what}() did not answer within 0.1 s (env.rollout.step_seconds)`,
      );
    },
  );

  it("of a tool is an error of the world", async () => {
    const options = await countingRollout(chat, 1);
    const tool = { name: "stuck", description: "", parameters: {}, execute: () => never };
    const agent = createAgent({ format: "tools", tools: [tool] });
    const call = '<tool_call>{"name": "stuck", "arguments": {}}</tool_call>';
    const policy = scriptedPolicy({
      chat,
      format: { ...agent.format, write: () => call },
      expert: () => ({ act: () => "x" }),
    });
    const limits = { turns: 3, stepSeconds: 0.1 };
    const { account } = await collect({ ...options, agent, policy, limits, retries: 0 });
    expect(account.errors[0]).toMatch(/the tool stuck did not answer within 0\.1 s/);
  });

  it.each([
    ["hangs", () => never as unknown as string, /the expert did not answer within 0\.1 s/],
    ["throws", () => JSON.parse("{") as string, /JSON/],
    ["says nothing", () => undefined as unknown as string, /gave undefined for an action/],
  ])("of an expert costs the episode: it %s", async (_, act: Expert["act"], message) => {
    const options = await countingRollout(chat, 1);
    const { format } = options.agent;
    const policy = scriptedPolicy({ chat, format, expert: () => ({ act }) });
    const limits = { turns: 3, stepSeconds: 0.1 };
    const { account } = await collect({ ...options, policy, limits, retries: 0 });
    expect(account.statuses).toEqual({ "policy error": 1 });
    expect(account.errors[0]).toMatch(message);
  });

  it("is not waited for again when the run is to end", async () => {
    const ending = new AbortController();
    let begun = 0;
    const options = await rollout(() => ({
      reset: () => {
        begun++;
        ending.abort();
        throw new Error("broken");
      },
    }));
    const { account } = await collect({ ...options, ending: ending.signal, retries: 5 });
    expect(account.statuses).toEqual({ "environment error": 2 });
    expect(begun).toBe(2);
  });

  it("through another episode's doing costs no attempt, and is not tried for ever", async () => {
    let failures = 0;
    const fail = () => {
      failures++;
      throw new EnvironmentError("counting", "another's doing", { blameless: true });
    };
    const options = await rollout((_, made) => (made < 7 ? { step: fail } : {}));
    const { account } = await collect({ ...options, retries: 0, concurrency: 1 });
    expect([account.statuses, failures]).toEqual([{ won: 2 }, 7]);
    const hopeless = await rollout(() => ({ step: fail }));
    const { account: lost } = await collect({ ...hopeless, retries: 0 });
    expect(lost.statuses).toEqual({ "environment error": 2 });
  });
});

describe("a text that is far too long", () => {
  /** What the world shows first, in a context of so many tokens, and how much of it was encoded. */
  async function shown(text: string, contextLength: number, context: "steps" | "conversation") {
    const options = await rollout((inner) => ({
      reset: async (task) => ({ ...(await inner.reset(task)), text }),
    }));
    const agent = createAgent({ context, showInstruction: false });
    const { world } = options;
    const policy = {
      ...scriptedPolicy({ chat, format: agent.format, expert: () => world.expert!(1) }),
      contextLength,
    };
    let encoded = 0;
    const encode = Tokenizer.prototype.encode;
    const spy = vi.spyOn(Tokenizer.prototype, "encode").mockImplementation(function (
      this: Tokenizer,
      ...given
    ) {
      encoded += given[0].length;
      return encode.apply(this, given);
    });
    const limits = { turns: 1, stepSeconds: 10 };
    const { all } = await collect({ ...options, agent, policy, limits, retries: 0 });
    spy.mockRestore();
    return { status: all[0]!.status, error: all[0]!.error, encoded: encoded / all.length, all };
  }

  it.each(["steps", "conversation"] as const)("is not encoded to its end: %s", async (context) => {
    for (const text of ["desk ".repeat(40_000), "x".repeat(200_000), "\n".repeat(200_000)]) {
      const { status, encoded } = await shown(text, 1000, context);
      expect(status).toBe("context full");
      // The limit is 1000 tokens; a desk is 5 characters.
      expect(encoded).toBeLessThan(20_000);
    }
  });

  it("is encoded as ever where it fits", async () => {
    const text = "desk 1 ".repeat(4000);
    const { status, all } = await shown(text, 50_000, "steps");
    expect(status).toBe("turn limit");
    const [{ messages, promptIds }] = all[0]!.turns as [(typeof all)[0]["turns"][0]];
    expect(promptIds).toEqual(chat.promptIds(messages));
  });

  it("is refused where it is longer than an observation may be", async () => {
    const { error } = await shown("x".repeat(200_001), 50_000, "steps");
    expect(error).toMatch(/text has 200001 characters; at most 200000 are taken/);
  });
});
