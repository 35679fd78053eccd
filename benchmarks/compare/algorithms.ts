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
  { name: "GiGPO", settings: gigpo("mean_norm") },
  { name: "GiGPO with std", settings: gigpo("mean_std_norm") },
  { name: "GiGPO, state anchors", settings: gigpo("mean_norm", "state") },
];

/** As in its paper: the same observation is the same state. */
function gigpo(mode: string, anchors = "observation"): string[] {
  return [
    "algorithm.adv_estimator=gigpo",
    `algorithm.gigpo.mode=${mode}`,
    `algorithm.gigpo.anchors=${anchors}`,
  ];
}
