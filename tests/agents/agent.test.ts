/**
 * @file The agent: prompts from observations, actions from replies, tools of its own; actions that are
 * meant and not written exactly.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AgentEpisode,
  type AgentOptions,
  chosenAction,
  createAgent,
  isAdmissible,
  runTool,
} from "../../src/agents/index.ts";
import type { Observation, Tool } from "../../src/environments/index.ts";

const see = (text: string, admissible?: readonly string[]): Observation => ({
  text,
  anchor: text,
  info: {},
  instruction: "find the key",
  ...(admissible && { admissible }),
});

function begin(options: AgentOptions = {}, observation = see("A door.", ["open door"])) {
  const agent = createAgent(options);
  return agent.begin({ episode: "e", world: "A house.", turns: 9, observation });
}

const contents = async (episode: AgentEpisode) =>
  (await episode.messages()).map(({ role, content }) => `${role}: ${content}`);

describe("a conversation", () => {
  it("tells the world, the form and the task once, then what is new", async () => {
    const episode = begin();
    const [system, first] = await contents(episode);
    expect(system).toMatch(/^system: .*A house\..*9 turns.*exactly one action/s);
    expect(first).toBe("user: Your task: find the key\n\nA door.\n\nYou can: open door");
    episode.advance(episode.read("open door"), "open door", see("A hall."));
    expect(await contents(episode)).toEqual(["user: A hall."]);
  });

  it("can leave out the actions and the form", async () => {
    const all = await contents(begin({ showAdmissible: false, showInstruction: false }));
    expect(all.join("\n")).not.toMatch(/You can|exactly one/);
  });

  it("takes words of one's own", async () => {
    const prompts = { system: () => "", turn: () => "go on" };
    expect(await contents(begin({ prompts }))).toEqual(["user: go on"]);
  });
});

describe("steps", () => {
  it("tell everything in every prompt, with the last steps", async () => {
    const episode = begin({ context: "steps", format: "openmanus" });
    const [first, ...more] = await contents(episode);
    expect(more).toEqual([]);
    expect(first).not.toMatch(/memory|last step/);
    const reply = "<plan>p</plan><action>open door</action>";
    episode.advance(episode.read(reply), reply, see("A hall."));
    const [second] = await contents(episode);
    expect(second).toContain("Your task: find the key");
    expect(second).toContain("[Observation 1: 'A door.', Action 1: 'open door']");
    expect(second).toContain("Turn 2 of 9. You see:\nA hall.");
    expect(second).toContain("<memory>");
  });
});

describe("a reply", () => {
  it("that could not be read is answered with what was wrong", () => {
    const episode = begin({ format: "think-action" });
    const read = episode.read("hm");
    expect(read).toMatchObject({ action: undefined, wellFormed: false });
    expect(episode.unreadable(read)).toMatch(
      /there is no <think>…<\/think>; there is no <action>…<\/action>\. Nothing was done/,
    );
  });

  it("is matched with the admissible actions of what the agent sees now", () => {
    const episode = begin();
    expect(episode.read("Open  Door.").action).toBe("open door");
    episode.advance(episode.read("x"), "x", see("A hall.", ["OPEN DOOR"]));
    expect(episode.read("open door").action).toBe("OPEN DOOR");
  });
});

describe("options", () => {
  const tool: Tool = {
    name: "note",
    description: "Notes.",
    parameters: { type: "object", properties: {} },
    execute: () => "noted",
  };
  it.each<[AgentOptions, RegExp]>([
    [{ context: "dream" as "steps" }, /context is "dream"/],
    [{ history: { kind: "window" } }, /needs the context "steps"/],
    [{ tools: [tool] }, /tools need the reply format "tools"/],
    [{ format: "xml" }, /no reply format "xml"/],
  ])("that make no sense: %j", (options, message) => {
    expect(() => createAgent(options)).toThrow(message);
  });

  it("a world without tools can still be acted in beside tools of the agent's own", async () => {
    const episode = begin({ format: "tools", tools: [tool] });
    expect((await contents(episode))[0]).toMatch(/"name":"act".*\n.*"name":"note"/);
    const act = '{"name": "act", "arguments": {"action": "Open door"}}';
    expect(episode.read(act)).toMatchObject({ action: "open door", wellFormed: true });
    const note = episode.read('{"name": "note", "arguments": {}}');
    expect(note.call).toEqual({ name: "note", arguments: {} });
  });
});

describe("tools", () => {
  const tool = (execute: Tool["execute"]): Tool => ({
    name: "t",
    description: "",
    parameters: {},
    execute,
  });
  const call = { name: "t", arguments: { x: 1 } };

  it("answer, and their failures are answers", async () => {
    const sum = tool(({ x }) => `got ${x}`);
    expect(await runTool([sum], call)).toEqual({ text: "got 1", failed: false });
    const broken = tool(() => Promise.reject(new Error("no disk")));
    expect(await runTool([broken], call)).toEqual({ text: "t failed: no disk", failed: true });
    expect(await runTool([sum], { name: "u", arguments: {} })).toBeUndefined();
    expect(await runTool([sum], undefined)).toBeUndefined();
  });

  it("that were told to stop do not answer", async () => {
    const stopped = AbortSignal.abort(new Error("over"));
    const slow = tool((_, signal) => Promise.reject(signal!.reason as Error));
    await expect(runTool([slow], call, stopped)).rejects.toThrow("over");
  });
});

describe("actions", () => {
  it("keep their meaning: nothing but case, white space and a full stop is repaired", () => {
    const admissible = ["go to desk 1", "Look"];
    expect(chosenAction(" Go to  Desk 1. ", admissible)).toBe("go to desk 1");
    expect(chosenAction("look", admissible)).toBe("Look");
    expect(chosenAction("go to desk 11", admissible)).toBe("go to desk 11");
    expect(chosenAction("Anything", undefined)).toBe("Anything");
  });

  it("with a blank are any filling of it", () => {
    const admissible = ["search[<your query>]", "click[buy]"];
    expect(isAdmissible("click[buy]", admissible)).toBe(true);
    fc.assert(
      fc.property(fc.string(), (query) => {
        expect(isAdmissible(`search[${query}]`, admissible)).toBe(query.trim() !== "");
      }),
    );
    for (const wrong of ["search[", "search", "]", "search[]", "", "click[<your query>]"])
      expect(isAdmissible(wrong, admissible)).toBe(false);
  });
});
