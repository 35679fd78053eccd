/**
 * @file A rank of a sharded run whose second rank's loss is not a number: found after the forward pass, and
 * before it. Both ranks skip that update, and make the next. The arguments are settings.
 */
import { NonFiniteError } from "../../../src/algorithms/index.ts";
import { resolveConfig } from "../../../src/config/index.ts";
import { tensor } from "../../../src/torch/index.ts";
import { actorSettings, updateActor } from "../../../src/training/workers/actor.ts";
import { type LossOfPass, updateOptions } from "../../../src/training/workers/optimize.ts";
import { setUp } from "./runs.ts";

const { config } = resolveConfig({ overrides: process.argv.slice(2) });
const { options, workers, ranks, batch } = await setUp(config);
const { actor } = workers;

/** An update with another loss, on the second rank. */
function updated(change: (loss: LossOfPass) => LossOfPass) {
  const own = ranks.rank === 1 ? change : (loss: LossOfPass) => loss;
  const changed: typeof actor = {
    ...actor,
    update: (rows, how, loss) => actor.update(rows, how, own(loss)),
  };
  const inputs = { advantages: new Float64Array(batch.ids.length).fill(1) };
  const settings = actorSettings(options);
  return updateActor(changed, batch, inputs, settings, updateOptions(options, "actor", 1));
}

const after = updated((loss) => (...given) => ({ ...loss(...given), loss: tensor(Number.NaN) }));
const before = updated(() => () => {
  throw new NonFiniteError("the log-probability", Number.NaN, 0, 0);
});
const good = updated((loss) => loss);
const skipped = [after, before].map((result) => result.skipped.length);
console.log(
  `skipped ${skipped}, made ${after.updates + before.updates}, then made ${good.updates}`,
);
await workers.dispose();
ranks.close();
