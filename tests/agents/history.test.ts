/**
 * @file What agents are told of their past: windows, summaries, file memory.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createAgent, FileMemory, type HistoryOptions } from "../../src/agents/index.ts";

const folder = mkdtempSync(join(tmpdir(), "openmanus-memory-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** An episode in which the n-th turn sees "room n" and does "go n"; gives the next prompt. */
function walk(history: HistoryOptions, episode = "e") {
  const see = (text: string) => ({ text, anchor: text, info: {} });
  const agent = createAgent({ context: "steps", history, format: "openmanus" });
  const walker = agent.begin({ episode, world: "W.", turns: 99, observation: see("room 1") });
  let turn = 1;
  return {
    step(note = `n${turn}`, next = `room ${turn + 1}`) {
      const reply = `<memory>${note}</memory><action>go ${turn++}</action>`;
      walker.advance(walker.read(reply), reply, see(next));
    },
    prompt: async (signal?: AbortSignal) => (await walker.messages(signal))[0]!.content,
  };
}

describe("a window", () => {
  it.each([
    [0, 3, []],
    [1, 3, [3]],
    [2, 3, [2, 3]],
    [5, 3, [1, 2, 3]],
    [Infinity, 3, [1, 2, 3]],
  ])("of %s after %s steps", async (length, steps, shown) => {
    const walker = walk({ kind: "window", length });
    for (let i = 0; i < steps; i++) walker.step();
    const prompt = await walker.prompt();
    const lines = [...prompt.matchAll(/^\[Observation (\d): 'room \1', Action \1: 'go \1'\]$/gm)];
    expect(lines.map((line) => Number(line[1]))).toEqual(shown);
    if (length === 2) expect(prompt).toContain("Your last 2 steps, of 3 so far:");
  });

  it("must be a whole number", () => {
    expect(() => walk({ kind: "window", length: 1.5 })).toThrow(/whole number, got 1.5/);
  });
});

describe("a summary", () => {
  it("is asked for once per step, of all steps but the last", async () => {
    const asked: string[] = [];
    const summarize = async (question: string) => {
      asked.push(question);
      return ` summary ${asked.length} ${"x".repeat(900)}`;
    };
    const walker = walk({ kind: "summary", summarize, longest: 50 });
    walker.step();
    expect(await walker.prompt()).toContain("Your last step:");
    expect(asked).toEqual([]);
    walker.step();
    const [first, again] = [await walker.prompt(), await walker.prompt()];
    expect(again).toBe(first);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toContain("[Observation 1: 'room 1', Action 1: 'go 1']");
    expect(asked[0]).not.toContain("room 2");
    expect(first).toContain("What happened in your first step:\nsummary 1");
    expect(first).toMatch(/^summary 1 x{40}$/m);
    walker.step();
    expect(await walker.prompt()).toContain("What happened in your first 2 steps:\nsummary 2");
  });

  it("that failed is asked for again, and its failure is seen", async () => {
    let asked = 0;
    const summarize = async () => {
      if (++asked === 1) throw new Error("busy");
      return "fine";
    };
    const walker = walk({ kind: "summary", summarize });
    walker.step();
    walker.step();
    await expect(walker.prompt()).rejects.toThrow("busy");
    expect(await walker.prompt()).toContain("fine");
    expect(asked).toBe(2);
  });

  it("can be stopped", async () => {
    const summarize = (_: string, signal?: AbortSignal) =>
      new Promise<string>((_, reject) =>
        signal!.addEventListener("abort", () => reject(signal!.reason as Error)),
      );
    const walker = walk({ kind: "summary", summarize });
    walker.step();
    walker.step();
    await expect(walker.prompt(AbortSignal.timeout(20))).rejects.toThrow();
  });
});

describe("file memory", () => {
  it("recalls what shares rare words with the present, best and newest first", () => {
    const memory = new FileMemory();
    for (const line of ["the lamp is on desk 1", "the mug is in the sink", "the lamp is off", ""])
      memory.store(line);
    expect(memory.size).toBe(3);
    expect(memory.search("Where is a LAMP?", 2)).toEqual([
      "the lamp is off",
      "the lamp is on desk 1",
    ]);
    expect(memory.search("sink", 5)).toEqual(["the mug is in the sink"]);
    expect(memory.search("piano", 5)).toEqual([]);
    expect(memory.search("lamp", 5, 1)).toEqual(["the lamp is on desk 1"]);
  });

  it("goes into prompts, without what the window shows anyway", async () => {
    const walker = walk({ kind: "memory", recalled: 2 });
    walker.step("the key is under the mat");
    walker.step("nothing", "a door with a key");
    const prompt = await walker.prompt();
    expect(prompt).toContain("From your memory:\n[Note 1: the key is under the mat]");
    expect(prompt.match(/Observation 2/g)).toHaveLength(1);
  });

  it("recalls all steps when none is shown word for word", async () => {
    const walker = walk({ kind: "memory", length: 0 });
    walker.step();
    expect(await walker.prompt()).toContain("From your memory:\n[Observation 1: 'room 1'");
  });

  it("is a file per episode, begun anew with it, whatever the episode's id", async () => {
    const own = join(folder, "own");
    const ids = ["0:train/1#0", "0:train_1#0", `0:${"long/".repeat(100)}#0`, "0:../../up#0"];
    for (const id of ids) walk({ kind: "memory", folder: own }, id).step("first");
    for (const id of ids) walk({ kind: "memory", folder: own }, id).step("second");
    const files = readdirSync(own);
    expect(files).toHaveLength(ids.length);
    for (const file of files)
      expect(readFileSync(join(own, file), "utf8")).toBe(
        "[Observation 1: 'room 1', Action 1: 'go 1']\n[Note 1: second]\n",
      );
    expect(readdirSync(folder)).toEqual(["own"]);
  });

  it("is never shared: an episode recalls nothing of another", async () => {
    const options: HistoryOptions = { kind: "memory", folder: join(folder, "own"), length: 0 };
    const [one, other] = [walk(options, "a"), walk(options, "b")];
    one.step("room secret");
    other.step("room open");
    expect(await other.prompt()).not.toContain("secret");
    expect(await one.prompt()).toContain("secret");
  });
});
