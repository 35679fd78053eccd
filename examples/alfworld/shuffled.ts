/**
 * @file The control: each episode gets the reward of another one of its group, so there is nothing to learn from it.
 */
import { rewardFunction, seededRandom } from "openmanus-rl";

export default rewardFunction("shuffled", 1, ({ trajectory, group }) => {
  const order = seededRandom("shuffled", trajectory.group).shuffled(group);
  return order[group.indexOf(trajectory)]!.reward;
});
