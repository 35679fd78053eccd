/**
 * @file One process of a run of several. Writes its weights at the end, and the gradients of the first
 * update, into FILE-RANK.json; the other arguments are settings.
 */
import { writeFileSync } from "node:fs";
import { openRunWorld } from "../../../src/assembly/index.ts";
import { resolveConfig, runOptions } from "../../../src/config/index.ts";
import { openMetrics } from "../../../src/monitoring/index.ts";
import { openTrajectoryStore } from "../../../src/rollout/index.ts";
import { fit, joinRanks } from "../../../src/training/index.ts";
import { createWorkers } from "../../../src/training/workers/workers.ts";
import { weightsOf } from "./runs.ts";

const [file, ...overrides] = process.argv.slice(2);
const { config } = resolveConfig({ overrides });
const ranks = joinRanks();
const { options } = await runOptions(config);
const world = await openRunWorld(options.world);
const workers = createWorkers(options, ranks);
const { folder } = options.run;
let gradients: number[] = [];
const metrics = ranks.isFirst ? openMetrics(`${folder}/metrics.jsonl`) : undefined;
const store = ranks.isFirst ? openTrajectoryStore(`${folder}/trajectories`) : undefined;
const { actor } = workers;
/** The gradients of a first step are AdamW's first moment, over 1 − β₁. */
const noteGradients = () => {
  if (gradients.length > 0) return;
  const { tensors } = actor.state();
  gradients = [...actor.model.trainable.keys()].flatMap((name) =>
    [...tensors.get(`first_moment.${name}`)!.toNumbers()].map((value) => value / 0.1),
  );
};
const updated = {
  ...actor,
  *update(...given: Parameters<typeof actor.update>) {
    const result = yield* actor.update(...given);
    noteGradients();
    return result;
  },
};
await fit({
  options,
  world,
  workers: { ...workers, actor: updated },
  ranks,
  logger: metrics ?? { log() {}, close() {} },
  store,
  say: () => {},
});
writeFileSync(
  `${file}-${ranks.rank}.json`,
  JSON.stringify({ weights: weightsOf(actor.model), gradients }),
);
metrics?.close();
store?.close();
await workers.dispose();
ranks.close();
