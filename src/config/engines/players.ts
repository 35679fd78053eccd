/**
 * @file Processes that only play, of what the configuration says (actor_rollout_ref.rollout.players).
 */
import { kindOf } from "../../torch/index.ts";
import { playersOptions, probeTolerance, type ServedOptions } from "../../training/index.ts";
import type { Config } from "../schema.ts";

const ROLLOUT = "actor_rollout_ref.rollout";

/** Settings that players know, too. */
export const PLAYERS_ALSO = [
  "weights_folder",
  "sync_tolerance",
  "start_seconds",
  "answer_seconds",
].map((name) => `vllm.${name}`);

export function playersServed(config: Config): ServedOptions {
  const { trainer, actor_rollout_ref: policy } = config;
  const { rollout, model } = policy;
  const { vllm } = rollout;
  return {
    vllm: playersOptions({
      players: rollout.players,
      ahead: rollout.one_step_off ?? false,
      dtype: model.dtype,
      engine: {
        cacheBytes: rollout.cache_bytes,
        tokensPerStep: rollout.max_num_batched_tokens,
        speculation: rollout.speculation,
        quantization: rollout.quantization ?? undefined,
      },
      threads: trainer.threads ?? undefined,
      startSeconds: vllm.start_seconds,
      answerSeconds: vllm.answer_seconds,
    }),
    contextLength: undefined,
    tolerance: vllm.sync_tolerance ?? probeTolerance(model.dtype),
    adapters: false,
    weightsFolder: vllm.weights_folder,
  };
}

/** What processes that only play cannot do. */
export function playersProblems({ trainer, actor_rollout_ref: { rollout } }: Config): string[] {
  const name = `${ROLLOUT}.players=${rollout.players}`;
  const problems: string[] = [];
  if (kindOf(trainer.device) !== "cpu")
    problems.push(
      `${name}: players compute on the CPU, and trainer.device is ${trainer.device}: leave it out, or have vLLM play ` +
        `(${ROLLOUT}.name=vllm).`,
    );
  if (rollout.tensor_model_parallel_size > 1)
    problems.push(
      `${name}: a player has all of the weights; ${ROLLOUT}.tensor_model_parallel_size=` +
        `${rollout.tensor_model_parallel_size} splits them: use one of the two.`,
    );
  return problems;
}
