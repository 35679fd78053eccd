/**
 * @file Where a request goes on, and why branches begin; what a fork shares, what an abort leaves, who sees a session.
 */
import { describe, expect, it } from "vitest";
import type { GatewayMessage, Session } from "../../src/gateway/index.ts";
import { GatewayError } from "../../src/gateway/index.ts";
import { rowsOf } from "../../src/rollout/index.ts";
import { CALL, saying, tinyGateway, WEATHER } from "./support.ts";

const { tiny, newGateway } = tinyGateway();
const user = (content: string): GatewayMessage => ({ role: "user", content });
const system: GatewayMessage = { role: "system", content: "You act." };

/** A session whose model says these texts. */
function sessionOf(...texts: string[]) {
  const gateway = newGateway({ generator: saying(tiny.chat, texts) });
  const session = gateway.named("", "s");
  const ask = async (messages: GatewayMessage[], tools = [] as (typeof WEATHER)[]) => {
    const readsCalls = tools.length > 0;
    const reply = await gateway.reply(session, { messages, tools, readsCalls, sampling: {} });
    return { role: "assistant", content: reply.content, calls: reply.calls } as GatewayMessage;
  };
  return { gateway, session, ask };
}

const reasons = (session: Session) => session.branches.map(({ reason }) => reason);

describe("a request", () => {
  it("goes on with its branch, in the template's own ids", async () => {
    const { session, ask } = sessionOf("one", "two", "three");
    const first = await ask([system, user("a")]);
    const second = await ask([system, user("a"), first, user("b")]);
    await ask([system, user("a"), first, user("b"), second, user("c")]);
    expect(reasons(session)).toEqual(["first"]);
    const [row] = rowsOf({ context: "conversation", turns: session.turns() });
    const ids = row!.flatMap(({ promptIds, reply }) => [...promptIds, ...reply.ids]);
    // The texts are such that encoding them again gives the same: the whole is what the template writes.
    const whole = tiny.chat.promptIds([
      ...[system, user("a"), first, user("b"), second, user("c")].map(({ role, content }) => ({
        ...{ role, content },
      })),
    ]);
    expect(ids.slice(0, whole.length)).toEqual(whole);
  });

  it("takes calls that were parsed and written again, and a tool's answer, for the same", async () => {
    const { session, ask } = sessionOf(`Look. ${CALL}`, "done");
    const first = await ask([user("a")], [WEATHER]);
    const sent: GatewayMessage = {
      ...{ role: "assistant", content: " Look. " },
      calls: first.calls!.map((call) => ({
        ...call,
        id: "other",
        arguments: '{ "city" : "Bern" }',
      })),
    };
    await ask([user("a"), sent, { role: "tool", content: "rain", callId: "other" }], [WEATHER]);
    expect(reasons(session)).toEqual(["first"]);
    expect(session.turns().map(({ anchor }) => anchor)).toEqual(["a", "rain"]);
    expect(session.turns()[0]!.action).toContain("Bern");
  });

  it.each<[string, (first: GatewayMessage) => GatewayMessage[], string]>([
    ["another beginning", () => [user("z")], "new conversation"],
    ["the same again", () => [system, user("a")], "asked again"],
    [
      "an edited reply",
      (first) => [system, user("a"), { ...first, content: "no" }, user("b")],
      "edited reply",
    ],
    ["an edited message", (first) => [system, user("A"), first, user("b")], "edited history"],
    [
      "a reply without its thoughts",
      () => [system, user("a"), { role: "assistant", content: "one" }, user("b")],
      "dropped thoughts",
    ],
  ])("forks for %s", async (_, next, reason) => {
    const { session, ask } = sessionOf("<think>hm</think>one", "two");
    const first = await ask([system, user("a")]);
    await ask(next(first));
    expect(reasons(session)).toEqual(["first", reason]);
  });

  it("forks for other functions, and for calls at once", async () => {
    const { session, ask } = sessionOf("one");
    await ask([user("a")]);
    await ask([user("a")], [WEATHER]);
    expect(reasons(session)).toEqual(["first", "other tools"]);
    const other = sessionOf("one");
    await Promise.all([other.ask([user("a")]), other.ask([user("a")])]);
    expect(reasons(other.session)).toEqual(["first", "parallel call"]);
  });

  it("shares ids with the branch it comes from, and trains them once", async () => {
    const { session, ask } = sessionOf("one", "two", "three", "four");
    const first = await ask([system, user("a")]);
    const second = await ask([system, user("a"), first, user("b")]);
    await ask([system, user("a"), first, user("B")]);
    await ask([system, user("a"), first, user("b"), second, user("c")]);
    const rows = rowsOf({ context: "conversation", turns: session.turns() });
    expect(rows.map((row) => row.length)).toEqual([3, 1]);
    const [main, fork] = rows;
    const known = [...main![0]!.promptIds, ...main![0]!.reply.ids];
    expect(fork![0]!.promptIds.slice(0, known.length)).toEqual(known);
    session.reward({ reward: 2 }, 1);
    expect(session.turns().map(({ reward }) => reward)).toEqual([0, 0, 0, 2]);
    expect(() => session.reward({ reward: 2 }, 9)).toThrow(GatewayError);
  });

  it("leaves nothing behind when it is aborted", async () => {
    const { gateway, session, ask } = sessionOf("one", "a very long answer of many words", "three");
    const first = await ask([user("a")]);
    const before = session.branches[0]!.conversation.ids.length;
    const leaving = new AbortController();
    const left = gateway.reply(session, {
      ...{ messages: [user("a"), first, user("b")], tools: [], readsCalls: false, sampling: {} },
      signal: leaving.signal,
      onPiece: () => leaving.abort(new Error("gone")),
    });
    await expect(left).rejects.toThrow("gone");
    expect(session.branches[0]!.conversation.ids.length).toBe(before);
    expect(gateway.metrics.aborted).toBe(1);
    await ask([user("a"), first, user("b")]);
    expect(reasons(session)).toEqual(["first"]);
    expect(session.turns()).toHaveLength(2);
  });

  it("is refused beyond the session's limits", async () => {
    const gateway = newGateway({ generator: saying(tiny.chat, ["one"]) });
    const session = gateway.open({ seed: 1n, limits: { turns: 1 } });
    const ask = { messages: [user("a")], tools: [], readsCalls: false, sampling: {} };
    await gateway.reply(session, ask);
    await expect(gateway.reply(session, ask)).rejects.toThrow(/turn limit/);
    expect(session.limit).toBe("turn limit");
    const long = gateway.open({ seed: 1n, limits: { turns: 9, promptTokens: 30 } });
    const much = { ...ask, messages: [user("word ".repeat(100))] };
    await expect(gateway.reply(long, much)).rejects.toThrow(/tokens/);
    expect(long.limit).toBe("context full");
    gateway.closeOpened(long);
    await expect(gateway.reply(long, ask)).rejects.toThrow(/over/);
  });
});
