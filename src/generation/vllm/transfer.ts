/**
 * @file Weights to a vLLM server by NCCL, from GPU to GPUs (vLLM's weight transfer engine "nccl"). We are rank 0 of a
 * communicator, the server's processes are the others; HTTP says what comes, NCCL brings it.
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Device,
  joinNccl,
  type NcclChannel,
  newNcclId,
  noGrad,
  type Tensor,
  tidy,
} from "../../torch/index.ts";
import { ServerError } from "../server/errors.ts";
import type { Endpoints } from "./endpoints.ts";
import type { VllmOptions } from "./options.ts";

/** What a server must be started with. */
export const TRANSFER_WORDS = ["--weight-transfer-config", '{"backend":"nccl"}'];

export interface Transfer {
  /** The name of the weights that were sent last. */
  readonly version: string | undefined;
  /** Gives the server all weights, in checkpoints' names, and names them. Once it has failed it is of no use any more. */
  send(tensors: ReadonlyMap<string, Tensor>, version: string): Promise<void>;
  close(): void;
}

export interface TransferOptions {
  /** Of the weights, with its number: `cuda:0`. */
  readonly device: Device;
  /** In which they are sent. */
  readonly dtype: VllmOptions["dtype"];
  /** Milliseconds for one step. */
  readonly time: number;
}

/** Meets the server's processes in a new communicator. */
export async function openTransfer(
  endpoints: Endpoints,
  { device, dtype, time }: TransferOptions,
): Promise<Transfer> {
  const world = 1 + (await endpoints.worldSize());
  const id = newNcclId();
  const channel = joinNccl({ id, rank: 0, world, device, timeout: time });
  const info = {
    nccl_unique_id_b64: Buffer.from(id).toString("base64"),
    ...{ rank_offset: 1, world_size: world, packed: false },
  };
  const ask = (signal: AbortSignal) =>
    endpoints.transferStep("init_weight_transfer_engine", { init_info: info }, { time, signal });
  await together(channel, ask, channel.joined, (reason) => unmet(endpoints.url, reason));
  let sent: string | undefined;

  async function update(tensors: ReadonlyMap<string, Tensor>): Promise<void> {
    const info = {
      names: [...tensors.keys()],
      dtype_names: Array.from(tensors, () => dtype),
      shapes: Array.from(tensors.values(), ({ shape }) => shape),
    };
    const ask = (signal: AbortSignal) =>
      endpoints.transferStep("update_weights", { update_info: info }, { time, signal });
    await endpoints.transferStep("start_weight_update", {}, { time });
    await together(channel, ask, broadcast(channel, [...tensors.values()], dtype), (reason) =>
      unsent(endpoints.url, reason),
    );
    await endpoints.transferStep("finish_weight_update", {}, { time });
  }

  return {
    get version() {
      return sent;
    },
    async send(tensors, version) {
      sent = undefined;
      try {
        await endpoints.pause();
        await update(tensors);
        await endpoints.renew(version);
        // Not where it failed: a server with half of the weights is not to answer anybody.
        await endpoints.resume();
      } catch (error) {
        channel.abort();
        throw error;
      }
      sent = version;
    },
    close: () => channel.abort(),
  };
}

/** Bytes that are on their way at once: so many are copied where the server wants another dtype. */
const BATCH = 2 ** 28;

async function broadcast(
  channel: NcclChannel,
  tensors: readonly Tensor[],
  dtype: VllmOptions["dtype"],
): Promise<void> {
  for (let first = 0; first < tensors.length; ) {
    let [end, bytes] = [first, 0];
    while (end < tensors.length && (end === first || bytes < BATCH))
      bytes += tensors[end++]!.byteLength;
    const ready = tidy(() =>
      noGrad(() => tensors.slice(first, end).map((one) => one.detach().to(dtype).contiguous())),
    );
    try {
      await channel.broadcast(ready, 0);
    } finally {
      for (const one of ready) one.dispose();
    }
    first = end;
  }
}

/** Milliseconds in which a server may still say why it has left. */
const LAST_WORDS = 2000;

/** Both sides of one operation. When one of them fails, the other would wait for it for ever. */
async function together(
  channel: NcclChannel,
  ask: (signal: AbortSignal) => Promise<void>,
  work: Promise<void>,
  failed: (reason: string) => ServerError,
): Promise<void> {
  const given = new AbortController();
  const asked = ask(given.signal);
  try {
    await Promise.all([asked, work]);
  } catch (error) {
    channel.abort();
    const why = asked.then(
      () => undefined,
      (thrown: Error) => thrown.message,
    );
    const said = await Promise.race([why, sleep(LAST_WORDS, undefined)]);
    given.abort();
    throw failed(said ?? (error as Error).message);
  }
}

function unmet(url: string, reason: string): ServerError {
  return new ServerError(
    `${url}: the server and this process did not meet in NCCL: ${reason}. Expected a server of vLLM 0.32 on GPUs that ` +
      `nothing else uses, started with ${TRANSFER_WORDS.join(" '")}'; or hand weights over as files`,
  );
}

function unsent(url: string, reason: string): ServerError {
  return new ServerError(
    `${url}: weights did not arrive over NCCL: ${reason}. The server may have some of them, so it is not asked any ` +
      "more; look at what it said last, and start again, or hand weights over as files",
  );
}

let last: Promise<unknown> = Promise.resolve();

/** Transfers of this process, one after the other: a GPU can be stuck with two communicators that wait for each other. */
export function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  const mine = last.then(work);
  last = mine.catch(() => {});
  return mine;
}
