/**
 * @file Our side of the peers' generation: `createEngine` over the model's folder, as a program uses it.
 */
import { createEngine, type Engine } from "../../../src/generation/index.ts";
import { loadModel } from "../../../src/models/index.ts";
import { statusBytes } from "../../measure.ts";
import type { GenerationAnswer, GenerationRequest } from "../generation.ts";
import type { GenerationWork } from "../workloads.ts";
import { answer, type Request } from "./answering.ts";
import { VARIANTS } from "./variants.ts";

/** Sequence by sequence, turn by turn; nobody waits for another. */
async function generate(engine: Engine, work: GenerationWork, greedy = false): Promise<number[][]> {
  const { name, samples, reply, observations } = work;
  const sampling = {
    ...{ maximumTokens: reply, stopTokens: [] },
    ...{ temperature: greedy ? 0 : 1 },
  };
  const rows = observations.flatMap((turns, i) =>
    Array.from({ length: samples }, (_, sample) => ({ turns, seed: i * samples + sample, i })),
  );
  return Promise.all(
    rows.map(async ({ turns, seed, i }) => {
      const ids: number[] = [];
      const drawn: number[] = [];
      const conversation = turns.length > 1 ? { conversation: `${name} ${seed}` } : {};
      for (const [turn, observation] of turns.entries()) {
        ids.push(...observation);
        const request = { prompt: ids, sampling, seed: seed * 1000 + turn, task: `${name} ${i}` };
        const { ids: answered } = await engine.generate({ ...request, ...conversation });
        if (answered.length !== reply)
          throw new Error(`expected ${reply} tokens, got ${answered.length}`);
        ids.push(...answered);
        drawn.push(...answered);
      }
      if (turns.length > 1) engine.release(`${name} ${seed}`);
      return drawn;
    }),
  );
}

await answer<GenerationRequest & Request>(async (request): Promise<GenerationAnswer> => {
  const { dtype, engine: options } = VARIANTS.find(({ name }) => name === request.variant)!;
  const model = loadModel(request.folder, { dtype });
  for (const parameter of model.parameters.values()) parameter.requiresGrad_(false);
  const engine = createEngine(model, options);
  const greedy = request.greedy ? await generate(engine, request.greedy, true) : undefined;
  await generate(engine, request.warmUp);
  const seconds: Record<string, number> = {};
  for (const work of request.works) {
    const start = performance.now();
    await generate(engine, work);
    seconds[work.name] = (performance.now() - start) / 1000;
  }
  await engine.close();
  model.dispose();
  return { seconds, greedy, peakBytes: statusBytes("VmHWM"), about: "" };
});
