/**
 * @file A generator over one or several vLLM servers that all have the same weights. A conversation stays with its
 * server, which has its beginning in the cache; a new one goes to the server with the fewest.
 */
import type { Tokenizer } from "../../models/index.ts";
import type { Completion, GenerationRequest, TextGenerator } from "../request.ts";
import { ServerError } from "../server/errors.ts";
import type { VllmOptions } from "./options.ts";
import { type ServedWeights, WeightsError } from "./probe.ts";
import { createReplica, type Replica } from "./replica.ts";

export interface VllmEngineOptions {
  readonly vllm: VllmOptions;
  readonly tokenizer: Tokenizer;
  readonly vocabularySize: number;
  /** Where the weights that it is given lie. */
  readonly weightsFolder: string;
  readonly say: (text: string) => void;
}

/** What the servers did so far. */
export interface ServedStatistics {
  /** In which at least one request was waited for. */
  readonly seconds: number;
  /** Of prompts, what was in no cache; and every token that was drawn. */
  readonly computedTokens: number;
  readonly restarts: number;
}

export interface VllmEngine extends TextGenerator {
  /** Of the weights that all servers have. */
  readonly version: number | undefined;
  readonly statistics: ServedStatistics;
  /** Gives all servers these weights, and believes it when the probe agrees: the largest |Δ log p|. */
  use(weights: ServedWeights): Promise<number>;
  /** Throws where what was played since `use` cannot be trusted. */
  requireSound(): Promise<void>;
}

/** Servers that one request may see die. */
const MOST_SERVERS = 4;

export function createVllmEngine(options: VllmEngineOptions): VllmEngine {
  const { vllm } = options;
  const count = vllm.urls.length > 0 ? vllm.urls.length : vllm.replicas;
  const replicas = Array.from({ length: count }, (_, number) =>
    createReplica({ ...options, number }),
  );
  /** Conversations, and requests of none, by who has them. */
  const loads = new Map<Replica, number>(replicas.map((replica) => [replica, 0]));
  const places = new Map<string, Replica>();
  let version: number | undefined;
  /** Why nothing that is played can be trusted any more. */
  let unsound: WeightsError | undefined;
  let running = 0;
  let since = 0;
  const statistics = { seconds: 0, computedTokens: 0 };

  const load = (replica: Replica, change: number): void => {
    loads.set(replica, loads.get(replica)! + change);
  };

  function place(conversation: string | undefined): { replica: Replica; leave: () => void } {
    const known = conversation === undefined ? undefined : places.get(conversation);
    if (known) return { replica: known, leave: () => {} };
    const replica = replicas.reduce((a, b) => (loads.get(b)! < loads.get(a)! ? b : a));
    load(replica, 1);
    if (conversation === undefined) return { replica, leave: () => load(replica, -1) };
    places.set(conversation, replica);
    return { replica, leave: () => {} };
  }

  async function answered(request: GenerationRequest, replica: Replica): Promise<Completion> {
    for (let server = 1; ; server++) {
      const asked = await replica.ready();
      try {
        return await asked.generator.generate(request);
      } catch (error) {
        const mayPass = error instanceof ServerError && !request.signal?.aborted;
        if (!mayPass || server >= MOST_SERVERS || !(await replica.replaced(asked))) throw error;
      }
    }
  }

  return {
    get version() {
      return version;
    },
    get statistics() {
      const now = running > 0 ? performance.now() - since : 0;
      return {
        ...statistics,
        seconds: statistics.seconds + now / 1000,
        restarts: replicas.reduce((sum, { restarts }) => sum + restarts, 0),
      };
    },
    async generate(request) {
      const { replica, leave } = place(request.conversation);
      if (running++ === 0) since = performance.now();
      try {
        const completion = await answered(request, replica);
        statistics.computedTokens +=
          request.prompt.length - completion.cachedTokens + completion.ids.length;
        return completion;
      } catch (error) {
        if (error instanceof WeightsError) unsound ??= error;
        throw error;
      } finally {
        if (--running === 0) statistics.seconds += (performance.now() - since) / 1000;
        leave();
      }
    },
    release(conversation) {
      const replica = places.get(conversation);
      if (!replica) return;
      places.delete(conversation);
      load(replica, -1);
    },
    async use(weights) {
      version = undefined;
      // Not with Promise.all: of several that start, none may be left behind when one fails.
      const found = await Promise.allSettled(replicas.map((replica) => replica.use(weights)));
      const failed = found.find((one) => one.status === "rejected");
      if (failed) throw failed.reason;
      version = weights.version;
      unsound = undefined;
      return Math.max(...found.map((one) => (one as PromiseFulfilledResult<number>).value));
    },
    async requireSound() {
      if (unsound) throw unsound;
      await Promise.all(replicas.map((replica) => replica.requireVersion()));
    },
    async close() {
      await Promise.all(replicas.map((replica) => replica.close()));
    },
  };
}
