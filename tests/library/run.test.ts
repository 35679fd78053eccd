/**
 * @file What `train` gives back: its best policy, its report, evaluations and a word with the agent; and
 * `evaluate` of a run's folder.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  chat,
  evaluate,
  openTalk,
  policyIn,
  type Run,
  readTrajectories,
  serve,
  train,
} from "../../src/library/index.ts";
import { lights, QUICK, warmModel } from "./support.ts";

const parent = mkdtempSync(join(tmpdir(), "openmanus-run-"));
afterAll(() => rmSync(parent, { recursive: true, force: true }));
let model: string;
let run: Run;
/** The success of every validation, by iteration. */
const rates = new Map<number, number>();

beforeAll(async () => {
  model = await warmModel(parent);
  run = await train({
    ...QUICK,
    model,
    iterations: 6,
    // So high that it forgets everything: the best is not the last.
    learningRate: 2e-2,
    validation: { every: 1, tasks: null },
    folder: join(parent, "run"),
    onValidation: (iteration, { successRate }) => void rates.set(iteration, successRate!),
  });
});

describe("a run", () => {
  it("knows its best policy, which is the first of the best validations", () => {
    const highest = Math.max(...rates.values());
    const [first] = [...rates].find(([, rate]) => rate === highest)!;
    expect(run.best).toMatchObject({ iteration: first, successRate: highest });
    expect(run.model).toMatch(/step-000006/);
    expect(run.best!.folder).not.toBe(run.model);
  });

  it("has a report of its iterations", () => {
    expect(run.report).toBe(join(run.folder, "report.html"));
    const page = readFileSync(run.report!, "utf8");
    expect(page).toMatch(/gigpo in lights/);
    expect(page).toMatch(/"val\/success_rate":\[/);
    // It is written when the run has ended, and says so.
    expect(page).toMatch(/"state":\{"name":"finished"/);
  });

  it("is served by its best policy, which is also the one that is talked with", async () => {
    const served = async (place: string): Promise<string> => {
      const server = await serve({ model: place, port: 0, say() {} });
      try {
        const answer = await fetch(`${server.url}/v1/chat/completions`, {
          ...{ method: "POST", headers: { "content-type": "application/json" } },
          body: JSON.stringify({
            ...{ messages: [{ role: "user", content: "The lamp is off." }], temperature: 0 },
            max_tokens: 8,
          }),
        });
        expect(answer.status).toBe(200);
        const body = (await answer.json()) as { choices: { message: { content: string } }[] };
        return body.choices[0]!.message.content;
      } finally {
        await server.close();
      }
    };
    const ofBest = await served(run.best!.folder);
    expect(await served(run.folder)).toBe(ofBest);
    const talk = await openTalk({ model: run.folder, temperature: 0, maximumTokens: 8 });
    try {
      expect(await talk.say("The lamp is off.")).toBe(ofBest);
    } finally {
      await talk.close();
    }
  });

  it("evaluates its best policy, against its last", async () => {
    const found = await run.evaluate({ against: "last" });
    expect(found).toMatchObject({ model: run.best!.folder, world: "lights", split: "test" });
    expect(found.tasks).toBe(12);
    expect(found.trajectories).toHaveLength(12);
    expect(found.table.all.won).toBe(found.trajectories.filter(({ won }) => won).length);
    expect(found.against.model).toBe(run.model);
    const difference = found.table.all.rate - found.against.table.all.rate;
    expect(difference).toBeGreaterThan(0);
    expect(found.comparison.difference).toBeCloseTo(difference, 10);
  });

  it("evaluates the same way twice, and as its validation did", async () => {
    const [first, second] = [await run.evaluate(), await run.evaluate()];
    const actions = ({ trajectories }: typeof first) =>
      trajectories.map(({ turns }) => turns.map(({ reply }) => reply.text));
    expect(actions(first)).toEqual(actions(second));
    expect(first.table.all.rate).toBe(run.best!.successRate);
  });

  it("evaluates what it began with, its last policy, another model, fewer tasks, more episodes, another split", async () => {
    expect((await run.evaluate({ model: "start", tasks: 3 })).model).toBe(model);
    expect((await run.evaluate({ model: "last", tasks: 3 })).model).toBe(run.model);
    expect((await run.evaluate({ model, tasks: 3, episodes: 2 })).trajectories).toHaveLength(6);
    expect((await run.evaluate({ split: "train", tasks: 5 })).split).toBe("train");
    await expect(run.evaluate({ split: "other" })).rejects.toThrow(/other.*train, test/);
    await expect(run.evaluate({ model: join(parent, "none") })).rejects.toThrow(
      /there is no model in ".*none"/,
    );
  });
});

describe("chat", () => {
  it("answers in words, without the tokens that end a turn", async () => {
    for (const question of ["It is red.", [{ role: "user", content: "It is blue." } as const]]) {
      const answer = await run.chat(question, { maximumTokens: 20 });
      expect(answer).not.toMatch(/<\|/);
      expect(answer).toBe(await run.chat(question, { maximumTokens: 20 }));
    }
  });

  it("of a model before training says one of the world's words", async () => {
    expect(await chat(model, "It is green.")).toMatch(/^(stop|go|wait)$/);
  });

  it("draws by seed at a temperature", async () => {
    const drawn = (seed: number) => chat(model, "It is red.", { temperature: 3, seed });
    expect(await drawn(1)).toBe(await drawn(1));
    const all = await Promise.all([1, 2, 3, 4, 5, 6].map(drawn));
    expect(new Set(all).size).toBeGreaterThan(1);
    for (const answer of all) expect(answer).not.toMatch(/<\|/);
  });

  it("says what is too long", async () => {
    await expect(chat(model, "It is red. ".repeat(5000))).rejects.toThrow(
      /the messages have \d+ tokens, the model takes \d+ with its answer; send fewer/,
    );
  });
});

describe("evaluate", () => {
  it("of a run's folder plays the run's best policy, in the form it was trained in", async () => {
    const found = await evaluate({ model: run.folder, world: lights, progress: false });
    expect(found.model).toBe(run.best!.folder);
    expect(policyIn(run.folder)).toBe(run.best!.folder);
    expect(found.table.all.rate).toBe(run.best!.successRate);
    const stored = [...readTrajectories(join(run.folder, "validation"))].find(
      ({ step }) => step === run.best!.iteration,
    )!;
    const again = found.trajectories.find(({ task }) => task.id === stored.task.id)!;
    expect(again.turns[0]!.reply.text).toBe(stored.turns[0]!.reply.text);
  });

  it("of a world that only a program knows says which, where it is not given", async () => {
    await expect(evaluate({ model: run.folder, progress: false })).rejects.toThrow(
      /lights: there is no world of this name.*A world of your own is named by its file/,
    );
  });

  it("of a folder without a model says what would do", async () => {
    await expect(evaluate({ model: parent, world: lights })).rejects.toThrow(
      /there is no model in .*A run's folder will do, too, once it has saved a checkpoint/,
    );
  });
});
