/**
 * @file A model that acts beside an expert, with a real model and in real rooms: who said what is known,
 * the expert goes on from wherever the model leads, and what is learned is what the expert said.
 */
import { afterAll, describe, expect, it } from "vitest";
import { createAgent } from "../../src/agents/index.ts";
import { findWorld, openWorld } from "../../src/environments/index.ts";
import { createEngine } from "../../src/generation/index.ts";
import { collect, correctedPolicy, modelPolicy, type Trajectory } from "../../src/rollout/index.ts";
import { examplesOf } from "../../src/training/index.ts";
import { newModelFolder, openTinyModel, tasksOf, temporaryFolder } from "./support.ts";

const { model, chat } = openTinyModel(newModelFolder(temporaryFolder()));
afterAll(() => model.dispose());

async function episodes(
  share: number,
  concurrency: number,
  name = "household",
): Promise<readonly Trajectory[]> {
  const definition = await findWorld(name);
  const world = await openWorld(definition, name === "household" ? { difficulty: "easy" } : {});
  const engine = createEngine(model, { tokenizer: chat.tokenizer });
  const agent = createAgent({ format: "react", showAdmissible: false });
  const sampling = { maximumTokens: 12, temperature: 1 };
  const policy = correctedPolicy({
    student: modelPolicy({ generator: engine, chat, contextLength: 4096, sampling }),
    format: agent.format,
    expert: () => world.expert!(1),
    share,
    seed: 5,
  });
  const { all } = await collect({
    ...{ world, agent, policy, concurrency, seed: 3, limits: { turns: 40 } },
    about: { name, summary: definition.summary, tools: world.tools },
    tasks: await tasksOf(world, 6),
  });
  await engine.close();
  return all;
}

const said = (all: readonly Trajectory[]) =>
  all.map(({ turns }) => turns.map(({ reply, action }) => [reply.source, reply.ids, action]));

describe("a model beside an expert", () => {
  it("acts in its share of turns, and the expert wins in spite of it", async () => {
    const all = await episodes(0.4, 6);
    expect(all.filter(({ won }) => won).length).toBeGreaterThanOrEqual(5);
    const sources = all.flatMap(({ turns }) => turns.map(({ reply }) => reply.source));
    const share = sources.filter((source) => source === "policy").length / sources.length;
    expect(share).toBeGreaterThan(0.25);
    expect(share).toBeLessThan(0.55);
    for (const { turns } of all)
      for (const { reply, admissible, problems } of turns)
        if (reply.source === "scripted") expect([admissible, problems]).toEqual([true, []]);
  });

  it("does the same whatever runs beside an episode", async () => {
    expect(said(await episodes(0.4, 1))).toEqual(said(await episodes(0.4, 6)));
  });

  it("only the expert's turns are learned", async () => {
    for (const trajectory of await episodes(0.4, 6)) {
      const [{ ids, mask }] = examplesOf(trajectory) as [{ ids: Int32Array; mask: Uint8Array }];
      const learned = [...ids].filter((_, i) => mask[i] === 1);
      const expert = trajectory.turns.filter(({ reply }) => reply.source === "scripted");
      expect(learned).toEqual(expert.flatMap(({ reply }) => [...reply.ids]));
    }
  });

  it("is refused where the expert cannot go on from elsewhere", async () => {
    const [first] = await episodes(0.4, 6, "textcraft");
    expect(first!.status).toBe("policy error");
    expect(first!.error).toContain("cannot go on");
  });
});
