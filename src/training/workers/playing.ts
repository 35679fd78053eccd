/**
 * @file Who plays in a run: the engine in this process, or servers; and how the weights get there.
 */
import type { Metrics } from "../../algorithms/index.ts";
import { type ModelPlayer, OptionError, servedPlayer } from "../../assembly/index.ts";
import type { EngineStatistics } from "../../generation/index.ts";
import type { Chat, LoraModel, Model } from "../../models/index.ts";
import type { TrainingOptions } from "../options.ts";
import type { Ranks } from "../ranks/ranks.ts";
import { type ServedOptions, servedRollout } from "../served/rollout.ts";

export type GenerationFigures = Readonly<
  Pick<EngineStatistics, "seconds" | "computedTokens" | "guessedTokens" | "acceptedTokens">
>;

export interface Playing {
  readonly player: Pick<ModelPlayer, "agent" | "policy" | "drawing">;
  readonly statistics: GenerationFigures;
  readonly metrics: Metrics;
  /**
   * Runs work that generates, with the weights as they are after so many iterations: the one place that
   * tells the engine which weights it has (so that nothing cached outlives them) and merges the adapter.
   */
  generating<Result>(iteration: number, work: () => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

/** Runs work that generates in turns, where several ranks do it together. */
type Turns = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** `merges`: an adapter that is beside the weights, and in them while it plays. */
export function playedHere(
  player: ModelPlayer,
  merges: LoraModel | undefined,
  turns: Turns = (work) => work(),
): Playing {
  const { engine } = player;
  return {
    player,
    get statistics() {
      return engine.statistics;
    },
    metrics: {},
    async generating(iteration, work) {
      engine.weightsChanged(iteration);
      merges?.merge();
      try {
        return await turns(work);
      } finally {
        merges?.unmerge();
        // A run that is resumed here has nothing cached; neither has this one.
        engine.weightsChanged(iteration);
      }
    },
    close: () => player.close(),
  };
}

export interface ServedPlaying {
  readonly options: TrainingOptions;
  /** The whole policy, an adapter's part included. */
  readonly model: Model;
  readonly chat: Chat;
  /** Of the model, for its tokenizer. */
  readonly folder: string;
  readonly ranks: Ranks;
  readonly say: (text: string) => void;
}

/** Every rank plays with servers of its own: it starts them, or has its share of those that there are. */
function ownServers(served: ServedOptions, { rank, size }: Ranks): ServedOptions {
  const { urls } = served.vllm;
  if (size === 1 || urls.length === 0) return served;
  if (urls.length % size !== 0)
    throw new OptionError(
      `${size} training processes cannot share ${urls.length} vLLM servers equally: each plays with servers of its own, ` +
        "which have its weights. Give as many servers as processes, or two, three times as many",
    );
  const own = urls.filter((_, i) => i % size === rank);
  return { ...served, vllm: { ...served.vllm, urls: own } };
}

export function playedByServers(parts: ServedPlaying): Playing {
  const { options, model, chat, folder, ranks, say } = parts;
  const { play, run } = options;
  const served = ownServers(options.rollout.served!, ranks);
  const rollout = servedRollout({
    ...{ options: served, model, chat, say },
    ...{ runFolder: run.folder, tokenizerFolder: folder },
  });
  const { engine } = rollout;
  return {
    player: servedPlayer(engine, chat, rollout.contextLength, play),
    get statistics() {
      return { ...engine.statistics, guessedTokens: 0, acceptedTokens: 0 };
    },
    get metrics() {
      return rollout.metrics;
    },
    generating: rollout.playing,
    close: rollout.dispose,
  };
}
