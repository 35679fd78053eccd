/**
 * @file What one says about vLLM servers that play: how they are started, or where they are.
 */

/** How a process of our own engine is started that answers as a vLLM server does. */
export type OwnPlayer = (
  folder: string,
  port: number,
) => {
  readonly command: string;
  readonly words: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
};

export interface VllmOptions {
  /** The `vllm` program, or the folder of the virtual environment that has it. Not used with `urls`. */
  readonly executable: string | undefined;
  /** Servers that somebody else has started ("http://127.0.0.1:8000"). Empty: they are started here. */
  readonly urls: readonly string[];
  readonly apiKey?: string | undefined;
  /** Processes of our own play instead of vLLM. */
  readonly own?: OwnPlayer | undefined;
  /** So many servers, each with all of the weights. */
  readonly replicas: number;
  /** GPUs (or processes, on a CPU) of one server. */
  readonly tensorParallel: number;
  /** Share of a GPU's memory. */
  readonly memoryShare: number;
  /** Bytes of the key-value cache on a CPU. */
  readonly cacheBytes: number;
  /** Requests that a server computes at once. */
  readonly maximumSequences: number;
  readonly tokensPerStep: number;
  /** Tokens of a sequence. */
  readonly contextLength: number;
  /**
   * Whether long prompts may be computed in parts. On a CPU that ends vLLM 0.32 where a request has a seed, and all of
   * ours have: "CPU Generator does not use offset".
   */
  readonly cutsPrompts: boolean;
  readonly dtype: "float32" | "bfloat16" | "float16";
  /** Without compiled graphs. */
  readonly eager: boolean;
  /** Threads of a server on a CPU; undefined: its own choice. */
  readonly threads: number | undefined;
  /** By the number of a replica: the GPUs that it sees; undefined: all. */
  readonly devices?: ((replica: number) => string) | undefined;
  /** Adapters are handed over as such, of at most this rank; undefined: they are in the weights. */
  readonly adapterRank?: number | undefined;
  /** How servers get new weights: they read files, or are sent them from GPU to GPU. */
  readonly weights: "files" | "nccl";
  /** Further words for the command line. */
  readonly words: readonly string[];
  /** Seconds that a server has to start. */
  readonly startSeconds: number;
  /** Seconds for one answer. */
  readonly answerSeconds: number;
}

/** The name by which requests call the model. */
export const MODEL_NAME = "policy";

/** The name by which requests call the model with the adapter of a version. */
export function adapterName(version: number): string {
  return `${MODEL_NAME}-${version}`;
}
