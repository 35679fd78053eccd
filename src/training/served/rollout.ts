/**
 * @file The rollout's servers: they are given the actor's weights when those have changed, and asked whether they
 * really have them.
 */
import type { Metrics } from "../../algorithms/index.ts";
import { OptionError } from "../../assembly/index.ts";
import {
  createVllmEngine,
  type ServedWeights,
  type VllmEngine,
  type VllmOptions,
} from "../../generation/index.ts";
import type { Chat, LoraModel, Model } from "../../models/index.ts";
import { tidy } from "../../torch/index.ts";
import { probeOf } from "./probe.ts";
import { untied, weightsPlace } from "./weights.ts";

/** How vLLM plays for a run. */
export interface ServedOptions {
  readonly vllm: Omit<VllmOptions, "contextLength">;
  /** Tokens of a sequence; undefined: the model's. */
  readonly contextLength: number | undefined;
  /** How far log-probabilities of the probe may be apart. */
  readonly tolerance: number;
  /** Whether an adapter is handed over as such, and not in the weights. */
  readonly adapters: boolean;
  /** Where weights are handed over; undefined: in memory, or in the run's folder. */
  readonly weightsFolder: string | undefined;
}

export interface ServedRollout {
  readonly engine: VllmEngine;
  /** Tokens of a sequence. */
  readonly contextLength: number;
  /** Runs work that plays with the weights as they are now, which are those after so many iterations. */
  playing<Result>(version: number, work: () => Promise<Result>): Promise<Result>;
  /** Of the last time that weights were handed over. */
  readonly metrics: Metrics;
  dispose(): Promise<void>;
}

export interface ServedParts {
  readonly options: ServedOptions;
  /** The whole policy; with an adapter in it, or beside it. */
  readonly model: Model;
  readonly chat: Chat;
  readonly runFolder: string;
  readonly tokenizerFolder: string;
  readonly say: (text: string) => void;
}

export function servedRollout(parts: ServedParts): ServedRollout {
  const { options, model, chat, say } = parts;
  const { maximumPositions } = model.config;
  const contextLength = Math.min(maximumPositions, options.contextLength ?? maximumPositions);
  const adapted = options.adapters && isAdapted(model) ? model : undefined;
  const vllm: VllmOptions = {
    ...{ ...options.vllm, contextLength },
    adapterRank: adapted?.settings.rank,
  };
  if (vllm.urls.length === 0 && vllm.executable === undefined && !vllm.own)
    throw new OptionError("there is neither a vLLM to be started nor the address of one");
  const place = weightsPlace(model, {
    asked: options.weightsFolder,
    ...{ runFolder: parts.runFolder, dtype: vllm.dtype, tokenizerFolder: parts.tokenizerFolder },
  });
  const engine = createVllmEngine({
    ...{ vllm, tokenizer: chat.tokenizer, weightsFolder: place.folder, say },
    vocabularySize: model.config.vocabularySize,
  });
  let metrics: Metrics = {};
  let base: string | undefined;

  /** What is not changed is written once: an adapter's base, and what servers are started with before they are sent more. */
  function written(version: number): Omit<ServedWeights, "version" | "probe"> {
    if (vllm.weights === "nccl") {
      if (vllm.urls.length === 0) base ??= place.write(model, "base");
      return { folder: base, tensors: () => tidy(() => untied(model).tensors) };
    }
    if (!adapted) return { folder: place.write(model, version) };
    base ??= place.write(adapted.base, "base");
    return { folder: base, adapter: place.writeAdapter(adapted, version) };
  }

  async function sync(version: number): Promise<void> {
    const since = performance.now();
    const probe = probeOf(model, options.tolerance);
    const largest = await engine.use({ ...written(version), version, probe });
    place.keepOnly(version);
    metrics = {
      "rollout_sync/logprob_diff_max": largest,
      "rollout_sync/weight_version": version,
      "timing_s/rollout_sync": (performance.now() - since) / 1000,
    };
  }

  return {
    ...{ engine, contextLength },
    get metrics() {
      return { ...metrics, "rollout_sync/restarts": engine.statistics.restarts };
    },
    async playing(version, work) {
      if (engine.version !== version) await sync(version);
      const result = await work();
      await engine.requireSound();
      return result;
    },
    async dispose() {
      await engine.close();
      place.dispose();
    },
  };
}

function isAdapted(model: Model): model is LoraModel {
  return "matrices" in model;
}
