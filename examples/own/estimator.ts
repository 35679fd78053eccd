/**
 * @file An advantage estimator of one's own: an episode's reward against the median of its group.
 *
 *   npx tsx estimator.ts          openmanus-rl train algorithm.adv_estimator=estimator.ts …
 */
import { fileURLToPath } from "node:url";
import { type AdvantageEstimator, train } from "openmanus-rl";

const againstMedian: AdvantageEstimator = {
  name: "against_median",
  summary: "an episode's reward against the median of its group",
  needs: { groups: true },
  estimate({ rows: { offsets, mask }, rewards, groups }) {
    const ids = Array.from(groups!);
    const scores = ids.map((_, row) => {
      let sum = 0;
      for (let token = offsets[row]!; token < offsets[row + 1]!; token++) sum += rewards[token]!;
      return sum;
    });
    const advantages = new Float64Array(mask.length);
    for (const [row, id] of ids.entries()) {
      const group = scores.filter((_, other) => ids[other] === id).sort((a, b) => a - b);
      const advantage = scores[row]! - group[group.length >> 1]!;
      for (let token = offsets[row]!; token < offsets[row + 1]!; token++)
        advantages[token] = advantage * mask[token]!;
    }
    return { advantages, returns: advantages };
  },
};
export default againstMedian;

const choices = { model: { preset: "tiny", tasks: 20 }, warmStart: { episodes: 30 } } as const;
const algorithm = { estimator: againstMedian };
if (process.argv[1] === fileURLToPath(import.meta.url))
  await train({ ...choices, world: "maze", algorithm, iterations: 2, folder: "runs/estimator" });
