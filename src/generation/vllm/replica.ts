/**
 * @file One vLLM server: started here or elsewhere, given weights, and started again (or waited for) with the same
 * weights when it is gone. Whoever asks it meanwhile waits.
 */
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Tokenizer } from "../../models/index.ts";
import { oneLine } from "../../network/index.ts";
import { type GuardedProgram, startGuarded } from "../../processes/index.ts";
import { dispose } from "../../torch/index.ts";
import type { GenerationRequest } from "../request.ts";
import { createServerGenerator, type ServerGenerator } from "../server/client.ts";
import { ServerError } from "../server/errors.ts";
import { serveCommand, serveVariables } from "./command.ts";
import { type Endpoints, endpointsOf } from "./endpoints.ts";
import { adapterName, MODEL_NAME, type VllmOptions } from "./options.ts";
import { requireWeights, type ServedWeights, servedName } from "./probe.ts";
import { inTurn, openTransfer, type Transfer } from "./transfer.ts";

/** A server from one start to its end. */
interface Incarnation {
  readonly endpoints: Endpoints;
  readonly generator: ServerGenerator;
  /** Undefined: somebody else has started it. */
  readonly program: GuardedProgram | undefined;
  /** Whether it has the weights that adapters belong to. */
  hasBase: boolean;
  /** Where weights are sent by NCCL, and some were. */
  transfer: Transfer | undefined;
}

export interface ReplicaOptions {
  readonly vllm: VllmOptions;
  readonly number: number;
  readonly tokenizer: Tokenizer;
  readonly vocabularySize: number;
  /** Removed by the system's guard when this process is killed. */
  readonly weightsFolder: string;
  /** A sentence for whoever watches. */
  readonly say: (text: string) => void;
}

export interface Replica {
  /** Has it play with these weights; gives the largest |Δ log p| of the probe. */
  use(weights: ServedWeights): Promise<number>;
  /** The server that is to be asked now; waits for one that is being started. */
  ready(): Promise<Incarnation>;
  /** After a request failed: whether asking again may help, because another server has taken its place. */
  replaced(failed: Incarnation): Promise<boolean>;
  /** Throws where it does not have the weights any more that it was given. */
  requireVersion(): Promise<void>;
  /** How often it was started again. */
  readonly restarts: number;
  close(): Promise<void>;
}

/** Starts in a row, without a sync between them, after which it is given up. */
const MOST_RESTARTS = 3;
/** Of what a server said before it died. */
const LAST_LINES = 3;
/** Ports that are tried. */
const PORTS = 3;
/** Milliseconds without an answer after which a server is taken for dead. */
const SILENT = 60_000;
/** Milliseconds between two looks. */
const LOOK = 200;

export function createReplica(options: ReplicaOptions): Replica {
  const { vllm, number, say } = options;
  const given = vllm.urls[number];
  const kind = vllm.own ? "player" : "vLLM server";
  const name = `${kind} ${number + 1}${given === undefined ? "" : ` (${given})`}`;
  let current: Incarnation | undefined;
  let weights: ServedWeights | undefined;
  let recovering: Promise<Incarnation> | undefined;
  let closed = false;
  let restarts = 0;
  let inARow = 0;

  function incarnation(url: string, program: GuardedProgram | undefined): Incarnation {
    const endpoints = endpointsOf(url, vllm.apiKey);
    const generator = createServerGenerator({
      ...{ baseUrl: `${endpoints.url}/v1`, model: MODEL_NAME },
      ...{ tokenizer: options.tokenizer, vocabularySize: options.vocabularySize },
      ...(vllm.apiKey !== undefined && { apiKey: vllm.apiKey }),
      // More wait in line at the server, which batches them as it likes.
      concurrency: 2 * vllm.maximumSequences,
      timeout: vllm.answerSeconds * 1000,
      // Beyond that, whether asking again helps is decided here, by whether the server lives.
      ...{ retries: 4, firstWait: 200 },
      ...(vllm.own && { telling: everything }),
    });
    const hasBase = program !== undefined;
    return { endpoints, generator, program, hasBase, transfer: undefined };
  }

  /** The server that runs gets weights, or an adapter for those that it has. */
  async function give(
    made: Incarnation,
    { folder, tensors, adapter, version }: ServedWeights,
  ): Promise<void> {
    const { endpoints, generator } = made;
    const found = await endpoints.weightVersion();
    if (found === String(version)) return;
    if (tensors) return inTurn(() => send(made, tensors, String(version), found));
    if (adapter === undefined) return endpoints.loadWeights(folder!, String(version));
    if (!made.hasBase) await endpoints.loadWeights(folder!, "base");
    made.hasBase = true;
    const before = generator.model === MODEL_NAME ? undefined : generator.model;
    await endpoints.loadAdapter(adapterName(version), adapter, before);
    await endpoints.nameWeights(String(version));
  }

  /** `found`: the name of the weights that it has. */
  async function send(
    made: Incarnation,
    current: NonNullable<ServedWeights["tensors"]>,
    version: string,
    found: string | null,
  ): Promise<void> {
    const tensors = current();
    try {
      // Somebody has started it again: it knows nothing of the connection.
      if (made.transfer?.version !== found) dropTransfer(made);
      const [first] = tensors.values();
      const { device } = first!;
      const options = { device, dtype: vllm.dtype, time: vllm.answerSeconds * 1000 };
      made.transfer ??= await openTransfer(made.endpoints, options);
      await made.transfer.send(tensors, version);
    } catch (error) {
      dropTransfer(made);
      throw error;
    } finally {
      dispose(tensors);
    }
  }

  async function started(now: ServedWeights, attempt = 1): Promise<Incarnation> {
    const port = await freePort();
    const program = startGuarded({
      ...(vllm.own?.(now.folder!, port) ?? {
        ...serveCommand(vllm.executable!, now.folder!, port, vllm),
        variables: serveVariables(vllm, number),
      }),
      removes: options.weightsFolder,
    });
    const made = incarnation(`http://127.0.0.1:${port}`, program);
    try {
      await healthy(made, name, vllm.startSeconds);
      if (now.adapter === undefined && !now.tensors)
        await made.endpoints.nameWeights(String(now.version));
      else await give(made, now);
    } catch (error) {
      await program.stop();
      // Somebody else was quicker.
      if (/address already in use/i.test(program.lastWords()) && attempt < PORTS)
        return started(now, attempt + 1);
      throw error;
    }
    return made;
  }

  /** One that has the weights, however it gets there; the probe is asked in any case. */
  async function withWeights(now: ServedWeights): Promise<{ made: Incarnation; largest: number }> {
    let made = current;
    if (given !== undefined) {
      made ??= incarnation(given, undefined);
      await healthy(made, name, vllm.startSeconds);
      await give(made, now);
    } else if (made && !(await isGone(made))) await give(made, now);
    else {
      if (made) dropTransfer(made);
      await made?.program?.stop();
      made = await started(now);
    }
    current = made;
    made.generator.weightsVersion = now.version;
    made.generator.model = servedName(now);
    return { made, largest: await requireWeights(made.endpoints, now) };
  }

  function recover(failed: Incarnation): Promise<Incarnation> {
    recovering ??= (async () => {
      try {
        if (++inARow > MOST_RESTARTS)
          throw new ServerError(
            `${name} was started ${MOST_RESTARTS} times and did not stay: ${endOf(failed)}`,
          );
        restarts++;
        say(`${name} is gone (${endOf(failed)}); starting it again with the same weights`);
        return (await withWeights(weights!)).made;
      } finally {
        recovering = undefined;
      }
    })();
    return recovering;
  }

  return {
    get restarts() {
      return restarts;
    },
    async use(next) {
      await recovering?.catch(() => {});
      weights = next;
      inARow = 0;
      return (await withWeights(next)).largest;
    },
    async ready() {
      if (closed) throw new Error("generate: the generator was closed");
      if (recovering) return recovering;
      if (!current) throw new Error(`${name} was not given any weights yet`);
      return current;
    },
    async replaced(failed) {
      if (closed) return false;
      if (recovering) await recovering;
      if (current !== failed) return true;
      if (!(await isGone(failed)) || closed) return false;
      // Another request may have found out in the meantime.
      if (current === failed || recovering) await recover(failed);
      return true;
    },
    async requireVersion() {
      const found = await (await this.ready()).endpoints.weightVersion();
      if (found === String(weights!.version)) return;
      throw new ServerError(
        `${name} has the weights "${found}", and was given "${weights!.version}": somebody has started it again, or ` +
          "given it others, in the middle of the rollout",
      );
    },
    async close() {
      closed = true;
      await current?.generator.close();
      await recovering?.catch(() => {});
      if (given !== undefined && current?.transfer) await released(current.endpoints);
      if (current) dropTransfer(current);
      await current?.program?.stop();
    },
  };
}

/** What a player of ours is told besides: whole seeds, and whose request it is. */
function everything({ seed, conversation, task }: GenerationRequest): Record<string, unknown> {
  return { seed: String(seed), conversation, task };
}

function dropTransfer(made: Incarnation): void {
  made.transfer?.close();
  made.transfer = undefined;
}

/** Whoever comes next finds a server without a connection to us. */
async function released(endpoints: Endpoints): Promise<void> {
  await endpoints
    .transferStep("shutdown_weight_transfer_engine", {}, { time: SILENT })
    .catch(() => {});
}

/** Waits until it answers. */
async function healthy(
  { endpoints, program }: Pick<Incarnation, "endpoints" | "program">,
  name: string,
  seconds: number,
): Promise<void> {
  const until = performance.now() + seconds * 1000;
  while (program?.end === undefined) {
    if (await endpoints.isHealthy()) return;
    if (performance.now() > until)
      throw new ServerError(
        `${name} was not ready within ${seconds} s${program ? `; it said:\n${program.lastWords()}` : ""}`,
      );
    await sleep(LOOK);
  }
  throw new ServerError(
    `${name} could not be started: ${program.end}; it said:\n${program.lastWords()}`,
  );
}

/** Whether it has ended, or has not answered for so long that it never will. */
async function isGone({ endpoints, program }: Incarnation): Promise<boolean> {
  for (const until = performance.now() + SILENT; performance.now() < until; await sleep(LOOK)) {
    if (program?.end !== undefined) return true;
    if (await endpoints.isHealthy()) return false;
  }
  return true;
}

function endOf({ program }: Incarnation): string {
  const words = program?.lastWords(LAST_LINES) ?? "";
  const end = program?.end ?? "it does not answer any more";
  return words === "" ? end : `${end}; it said last: ${oneLine(words)}`;
}

/** A port that nobody has at this moment. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
