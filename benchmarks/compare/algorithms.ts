/**
 * @file The algorithms that are compared: what each changes in a comparison's settings, nothing else.
 */

export interface Algorithm {
  readonly name: string;
  readonly settings: readonly string[];
}

export const ALGORITHMS: readonly Algorithm[] = [
  {
    name: "PPO",
    settings: [
      "algorithm.adv_estimator=gae",
      "critic.optim.lr=1e-3",
      "critic.cliprange_value=10",
      "trainer.critic_warmup=2",
    ],
  },
  { name: "RLOO", settings: ["algorithm.adv_estimator=rloo"] },
  { name: "GRPO", settings: ["algorithm.adv_estimator=grpo"] },
  { name: "GiGPO", settings: ["algorithm.adv_estimator=gigpo"] },
  {
    name: "GiGPO with std",
    settings: ["algorithm.adv_estimator=gigpo", "algorithm.gigpo.mode=mean_std_norm"],
  },
];
