/**
 * @file The GPUs of this machine, by their names for CUDA_VISIBLE_DEVICES: which there are, and which the trainer has.
 */
import { existsSync, readdirSync } from "node:fs";
import type { Config } from "../schema.ts";

/** Where NVIDIA's driver shows them on Linux. */
const DRIVER = "/proc/driver/nvidia/gpus";

/** Those that this process may use; undefined: that is not known here. */
export function visibleGpus(
  said: string | undefined = process.env.CUDA_VISIBLE_DEVICES,
  driver: string = DRIVER,
): readonly string[] | undefined {
  if (said) return said.split(",").map((name) => name.trim());
  return existsSync(driver) ? readdirSync(driver).map((_, i) => String(i)) : undefined;
}

/** How many GPUs servers leave to the trainer: NCCL refuses two ranks on one. */
export function trainersGpus({
  trainer,
  rollout,
}: {
  readonly trainer: Config["trainer"];
  readonly rollout: Config["actor_rollout_ref"]["rollout"];
}): number {
  if (rollout.vllm.weights !== "nccl") return 0;
  const last = Number(trainer.device.split(":")[1] ?? 0);
  return Math.max(trainer.n_gpus_per_node, last + 1);
}
