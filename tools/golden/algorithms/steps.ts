/**
 * @file Golden cases of GiGPO and HGPO: rows that are steps. A case without inputs, like
 * gigpo/episode_per_trajectory, uses those of the case of its kind before it.
 */
import { gigpo, hgpo, stepReturns, stepsOfRows } from "../../../src/algorithms/index.ts";
import { compareNumbers } from "../compare.ts";
import { compareTokens, type GoldenCase, Inputs, type Report } from "./case.ts";

export function stepCases(
  { name, in: own, out }: GoldenCase,
  before: readonly GoldenCase[],
): Report | undefined {
  const [kind, variant] = name.split("/");
  if (kind !== "gigpo" && kind !== "hgpo") return undefined;
  const fields =
    Object.keys(own).length > 0
      ? own
      : before.findLast((one) => one.name.startsWith(`${kind}/`) && one.in.mask)?.in;
  if (!fields) return { problems: ["no inputs, and no case of this kind before it"] };
  const input = new Inputs(fields);
  const rows = input.rows();
  const spans = stepsOfRows(rows);
  const trajectories = input.list<string>("traj");
  const problems: string[] = [];
  const returns = input.has("step_rewards")
    ? stepReturns({ rewards: input.numbers("step_rewards"), trajectories }, input.number("gamma"))
    : input.numbers("step_returns");
  if (out.step_returns)
    problems.push(
      ...compareNumbers("step_returns", Array.from(returns), out.step_returns as number[]),
    );
  const batch = {
    rows,
    rewards: new Float64Array(rows.mask.length),
    groups: input.list<string>("group"),
    trajectories,
    steps: {
      spans,
      anchors: input.list("anchor_obs"),
      returns,
      scores: input.numbers("episode_return"),
    },
  };
  const mode = name.includes("mean_std_norm") ? "mean_std_norm" : "mean_norm";
  const ours =
    kind === "hgpo"
      ? hgpo(batch, {
          mode,
          historyLength: input.number("history_length"),
          lengthWeightAlpha: input.number("alpha", 1),
          baseGroup: name.endsWith("base_group"),
        })
      : gigpo(batch, {
          mode,
          // This case is about the episode's part alone.
          stepAdvantageWeight: variant === "episode_per_trajectory" ? 0 : input.number("omega", 1),
          episodeStatistics: variant === "episode_per_trajectory" ? "trajectories" : "rows",
          similarity: input.boolean("enable_similarity", name.includes("similarity"))
            ? input.number("similarity_thresh", 0.95)
            : undefined,
        });
  problems.push(...compareTokens("adv", ours.advantages, out.adv, rows));
  return { problems };
}
