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
    const all = Array.from(rewards);
    const scores = ids.map((_, row) =>
      all.slice(offsets[row], offsets[row + 1]).reduce((sum, reward) => sum + reward, 0),
    );
    const advantages = ids.flatMap((id, row) => {
      const group = scores.filter((_, other) => ids[other] === id).sort((a, b) => a - b);
      const advantage = scores[row]! - group[group.length >> 1]!;
      return Array.from(mask.subarray(offsets[row], offsets[row + 1]), (one) => one * advantage);
    });
    return { advantages: new Float64Array(advantages), returns: new Float64Array(advantages) };
  },
};
export default againstMedian;

if (process.argv[1] === fileURLToPath(import.meta.url))
  await train({
    ...{ world: "maze", worldOptions: { maze: "generated", width: 5, height: 5 }, turns: 10 },
    model: { preset: "tiny", tasks: 20 },
    warmStart: { episodes: 30 },
    algorithm: { estimator: againstMedian },
    iterations: 2,
    tasks: 4,
    validation: { every: 0 },
    folder: "runs/estimator",
  });
