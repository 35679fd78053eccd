/**
 * @file A stand-in for `vllm serve`: the same command line and the same endpoints, with our own engine behind them. It
 * really loads what it is told to, so that the whole way of the weights can be tested where there is no vLLM. Run as a
 * program of its own (support.ts writes one).
 *
 * STAND_IN_LOG: a file that gets a line for whatever happens. STAND_IN_FAULTS: a folder; a file there makes it do wrong:
 *
 *   skip-reload    answers that it has loaded weights, and has not
 *   keep-output    loads weights and keeps the output layer as it was (what vLLM does on a CPU with a tied one)
 *   die-in-answer  its process ends in the middle of an answer, once (it removes the file)
 *   die-in-update  its process ends when it has taken half of the weights that NCCL brings, once
 *   slow           every answer takes ten seconds longer
 */
import { appendFileSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createEngine, type Engine } from "../../../src/generation/index.ts";
import { loadChat, loadLora, loadModel, type Model } from "../../../src/models/index.ts";
import { openServer } from "../../../src/network/index.ts";
import { type NcclChannel, noGrad, setThreads, tidy } from "../../../src/torch/index.ts";
import { textLogprobs } from "../../../src/training/served/probe.ts";
import { loadStandin } from "../../support/standin.ts";
import { type InitInfo, joinAsWorker, received, type UpdateInfo } from "./receiver.ts";

const { positionals, values } = parseArgs({
  args: process.argv.slice(2),
  options: { port: { type: "string" }, "weight-transfer-config": { type: "string" } },
  allowPositionals: true,
  strict: false,
});
const [command, folder] = positionals as [string, string];
if (command !== "serve" || !folder) throw new Error("stand-in: expected serve FOLDER");
setThreads(1);

function log(text: string): void {
  if (process.env.STAND_IN_LOG)
    appendFileSync(process.env.STAND_IN_LOG, `${process.pid} ${text}\n`);
}

function has(fault: string): string | undefined {
  const path = join(process.env.STAND_IN_FAULTS ?? "/nowhere", fault);
  return existsSync(path) ? path : undefined;
}

const { tokenizer } = loadChat(folder);
let model: Model = loadModel(folder);
let engine: Engine = newEngine();
let version = "default";
let paused = false;

function newEngine(): Engine {
  for (const parameter of model.parameters.values()) parameter.requiresGrad_(false);
  return createEngine(model, { tokenizer, cacheBytes: 2 ** 26 });
}

async function reload(path: string): Promise<void> {
  if (has("skip-reload")) return log(`skipped ${path}`);
  const before = model;
  await engine.close();
  model = loadModel(path);
  if (has("keep-output"))
    tidy(() => noGrad(() => model.parameters.get("lm_head.weight")!.copy_(before.output)));
  before.dispose();
  engine = newEngine();
  log(`loaded ${path}`);
}

/** The worker that takes weights over NCCL; its end of the line. */
let channel: NcclChannel | undefined;
let updating = false;

async function joinTransfer(info: InitInfo): Promise<void> {
  if (values["weight-transfer-config"] !== '{"backend":"nccl"}')
    throw new Error("stand-in: started without --weight-transfer-config");
  await loadStandin();
  channel = await joinAsWorker(info);
  log("joined");
}

async function takeWeights(info: UpdateInfo): Promise<void> {
  if (!channel || !paused || !updating)
    throw new Error(`stand-in: joined: ${!!channel}, paused: ${paused}, updating: ${updating}`);
  const own = model.weights();
  const dies = has("die-in-update");
  let count = 0;
  for await (const [name, tensor] of received(channel, info)) {
    if (!own.has(name)) throw new Error(`stand-in: no weight ${name}`);
    noGrad(() => own.get(name)!.copy_(tensor));
    tensor.dispose();
    if (++count < info.names.length / 2 || !dies) continue;
    rmSync(dies);
    log("dies");
    process.kill(process.pid, "SIGKILL");
  }
  if (count !== own.size) throw new Error(`stand-in: ${count} weights of ${own.size}`);
  log(`took ${count}`);
}

/** The name of the adapter that it plays with, as vLLM's: requests must call it. */
let adapter: string | undefined;

async function loadAdapter(name: string, path: string): Promise<void> {
  if (!("enable-lora" in values)) throw new Error("stand-in: started without --enable-lora");
  if (has("skip-reload")) {
    adapter = name;
    return log(`skipped ${path}`);
  }
  await engine.close();
  model.dispose();
  model = loadLora(loadModel(folder), path);
  engine = newEngine();
  adapter = name;
  log(`adapter ${name} ${path}`);
}

interface Asked {
  readonly model: string;
  readonly prompt: number[];
  readonly max_tokens: number;
  readonly temperature: number;
  readonly top_p?: number;
  readonly top_k?: number;
  readonly seed?: number;
  readonly prompt_logprobs?: number;
}

async function completion(asked: Asked, signal: AbortSignal): Promise<Response> {
  if (asked.model !== (adapter ?? "policy"))
    return Response.json({ error: { message: `no model ${asked.model}` } }, { status: 404 });
  if (paused) return Response.json({ error: { message: "paused" } }, { status: 503 });
  const dies = has("die-in-answer");
  if (dies && asked.prompt_logprobs === undefined) {
    rmSync(dies);
    log("dies");
    process.kill(process.pid, "SIGKILL");
  }
  if (has("slow") && asked.prompt_logprobs === undefined) {
    const left = await Promise.race([
      new Promise<false>((resolve) => setTimeout(() => resolve(false), 10_000).unref()),
      new Promise<true>((resolve) => signal.addEventListener("abort", () => resolve(true))),
    ]);
    if (left) log("aborted");
  }
  const { ids, logprobs, finish, stop, cachedTokens } = await engine.generate({
    prompt: asked.prompt,
    seed: asked.seed ?? 0,
    sampling: {
      maximumTokens: asked.max_tokens,
      temperature: asked.temperature,
      topP: asked.top_p ?? 1,
      topK: Math.max(0, asked.top_k ?? 0),
    },
    signal,
  });
  const known = asked.prompt_logprobs === undefined ? undefined : textLogprobs(model, asked.prompt);
  return Response.json({
    choices: [
      {
        text: "",
        token_ids: ids,
        logprobs: {
          tokens: ids.map((id) => `token_id:${id}`),
          token_logprobs: logprobs,
        },
        finish_reason: finish === "stop" ? "stop" : "length",
        stop_reason: typeof stop === "string" ? stop : null,
        ...(known && {
          prompt_logprobs: asked.prompt.map((id, i) =>
            i === 0 ? null : { [id]: { logprob: known[i - 1], rank: 1 } },
          ),
        }),
      },
    ],
    usage: {
      completion_tokens: ids.length,
      prompt_tokens_details: { cached_tokens: cachedTokens },
    },
  });
}

async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  const body = request.method === "POST" ? ((await request.json()) as never) : undefined;
  switch (pathname) {
    case "/health":
      return new Response("");
    case "/v1/completions":
      return completion(body as unknown as Asked, request.signal);
    case "/pause":
      paused = true;
      return Response.json({ status: "paused" });
    case "/resume":
      paused = false;
      return Response.json({ status: "resumed" });
    case "/collective_rpc": {
      const { method, kwargs } = body as unknown as {
        method: string;
        kwargs: { weights_path: string };
      };
      if (method !== "reload_weights" || !paused)
        return Response.json(
          { error: { message: `${method}, paused: ${paused}` } },
          { status: 400 },
        );
      await reload(kwargs.weights_path);
      return Response.json({ results: [null] });
    }
    case "/get_world_size":
      return Response.json({ world_size: 1 });
    case "/init_weight_transfer_engine":
      await joinTransfer((body as unknown as { init_info: InitInfo }).init_info);
      return Response.json({ message: "Weight transfer initialized" });
    case "/start_weight_update":
      updating = true;
      return Response.json({ message: "Weight update started" });
    case "/update_weights":
      await takeWeights((body as unknown as { update_info: UpdateInfo }).update_info);
      return Response.json({ message: "Weights updated" });
    case "/finish_weight_update":
      updating = false;
      return Response.json({ message: "Weight update finished" });
    case "/v1/load_lora_adapter": {
      const { lora_name: name, lora_path: path } = body as unknown as Record<string, string>;
      await loadAdapter(name!, path!);
      return new Response(`Success: LoRA adapter '${name}' added successfully.`);
    }
    case "/v1/unload_lora_adapter":
      log(`unloaded ${(body as unknown as Record<string, string>).lora_name}`);
      return new Response("Success");
    case "/reset_prefix_cache":
      engine.weightsChanged();
      return Response.json({ success: true });
    case "/update_weight_version":
      version = (body as unknown as { new_version: string }).new_version;
      return Response.json({ success: true, new_version: version });
    case "/weight_info":
      return Response.json({ weight_version: version });
    default:
      return Response.json({ detail: "Not Found" }, { status: 404 });
  }
}

await openServer({ port: Number(values.port), handler: answer });
log(`started ${folder}`);
