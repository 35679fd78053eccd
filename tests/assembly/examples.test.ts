/**
 * @file Examples in prompts: the expert's episodes, or chats of one's own, as turns before the agent's own, in
 * every form in which an agent plays.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { openRunWorld } from "../../src/assembly/index.ts";
import { main } from "../../src/cli/main.ts";
import { resolveConfig, runOptions } from "../../src/config/index.ts";
import { readTrajectories } from "../../src/rollout/index.ts";
import { newModelFolder, temporaryFolder } from "../rollout/support.ts";

const folder = temporaryFolder();
afterEach(() => vi.restoreAllMocks());
const open = async (...overrides: string[]) => {
  const { config } = resolveConfig({
    overrides: ["env.env_name=household", "env.options.games=40", ...overrides],
  });
  return openRunWorld((await runOptions(config)).world);
};

describe("env.examples", () => {
  it("a number: short episodes of the expert, the same each time, in the run's form", async () => {
    const { about } = await open("env.examples=2", "env.format=react");
    const examples = about.examples!;
    expect(examples.map(({ role }) => role)).toEqual(
      examples.map((_, i) => (i % 2 === 0 ? "user" : "assistant")),
    );
    const starts = examples.filter(({ content }) => String(content).includes("Your task"));
    expect(starts).toHaveLength(2);
    for (const { role, content } of examples)
      if (role === "assistant") expect(content).toMatch(/^Thought: .*\nAction: /s);
    expect((await open("env.examples=2", "env.format=react")).about.examples).toEqual(examples);
    expect((await open()).about.examples).toBeUndefined();
  });

  it("a file: its chats, without their system messages", async () => {
    const file = join(folder, "chats.jsonl");
    const said = [
      { role: "user", content: "A door." },
      { role: "assistant", content: "open the door" },
    ];
    const lines = [[{ role: "system", content: "Obey." }, ...said], said];
    writeFileSync(file, lines.map((messages) => `${JSON.stringify({ messages })}\n`).join(""));
    const { about } = await open(`env.examples=${file}`);
    expect(about.examples).toEqual([...said, ...said]);
  });

  it.each([
    ["no JSON", "{", /line 1: no JSON/],
    ["no chat", "[1]", /line 1: expected \{"messages"/],
    ["a lone question", '{"messages":[{"role":"user","content":"?"}]}', /ends with an answer/],
    ["an answer first", '{"messages":[{"role":"assistant","content":"!"}]}', /in turns/],
  ])("a file with %s is refused", async (name, line, message) => {
    const file = join(folder, `${name}.jsonl`);
    writeFileSync(file, `${line}\n`);
    await expect(open(`env.examples=${file}`)).rejects.toThrow(message);
  });

  it("no such file, and more than the expert can win, are sentences", async () => {
    await expect(open("env.examples=nowhere.jsonl")).rejects.toThrow(/there is no file nowhere/);
    await expect(open("env.examples=100")).rejects.toThrow(
      /won only \d+ of \d+ tasks; ask for fewer/,
    );
  });

  it.each(["conversation", "steps"])("rollout shows them: %s", async (context) => {
    const model = newModelFolder(join(folder, context));
    const out = join(folder, `played-${context}`);
    vi.spyOn(console, "log").mockImplementation(() => {});
    const words = [
      ...[
        "rollout",
        "household",
        "games=40",
        "--bare",
        "--hide-actions",
        "--model",
        model,
        "--tasks",
        "1",
        "--turns",
        "2",
      ],
      ...["--examples", "1", "--context", context, "--reply-tokens", "8", "--out", out],
    ];
    expect(await main(words)).toBe(0);
    const [episode] = readTrajectories(out);
    for (const [i, { messages }] of episode!.turns.entries()) {
      const answers = messages.filter(({ role }) => role === "assistant");
      // A conversation has them before it begins, every step has them again.
      expect(answers.length > 0).toBe(context === "steps" || i === 0);
      expect(messages.at(-1)!.role).toBe("user");
    }
  });
});
