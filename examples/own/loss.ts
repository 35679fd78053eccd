/**
 * @file A policy loss of one's own: plain REINFORCE, −A · log π, which does not clip.
 *
 *   npx tsx loss.ts          the setting of the actor: policy_loss.loss_mode=loss.ts
 */
import { fileURLToPath } from "node:url";
import { type PolicyLossKind, train } from "openmanus-rl";

const reinforce: PolicyLossKind = {
  name: "reinforce",
  tokenLosses: ({ logprobs, advantages, logRatio }) => ({
    losses: advantages.neg().mul(logprobs),
    metrics: { "actor/ppo_kl": logRatio.neg() },
  }),
};
export default reinforce;

if (process.argv[1] === fileURLToPath(import.meta.url))
  await train({
    world: "maze",
    worldOptions: { maze: "generated", width: 5, height: 5 },
    model: { preset: "tiny", tasks: 20 },
    warmStart: { episodes: 30 },
    algorithm: { name: "grpo", loss: reinforce },
    iterations: 2,
    tasks: 4,
    turns: 10,
    validation: { every: 0 },
    folder: "runs/loss",
  });
