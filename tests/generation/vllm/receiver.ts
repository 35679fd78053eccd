/**
 * @file The worker's side of vLLM's weight transfer by NCCL: joins as the server's processes do, and takes what is
 * announced, tensor by tensor.
 */
import { joinNccl, type NcclChannel, type Tensor, zeros } from "../../../src/torch/index.ts";
import { DEVICE } from "../../support/standin.ts";

export interface InitInfo {
  readonly nccl_unique_id_b64: string;
  readonly rank_offset: number;
  readonly world_size: number;
  readonly packed: boolean;
}

export interface UpdateInfo {
  readonly names: readonly string[];
  readonly dtype_names: readonly ("float32" | "bfloat16" | "float16")[];
  readonly shapes: readonly (readonly number[])[];
}

export async function joinAsWorker(info: InitInfo, worker = 0): Promise<NcclChannel> {
  const channel = joinNccl({
    id: Buffer.from(info.nccl_unique_id_b64, "base64"),
    ...{ rank: info.rank_offset + worker, world: info.world_size, device: DEVICE, timeout: 60_000 },
  });
  await channel.joined;
  return channel;
}

/** What was announced, as it comes; on the CPU. */
export async function* received(
  channel: NcclChannel,
  { names, dtype_names: dtypes, shapes }: UpdateInfo,
): AsyncGenerator<[name: string, tensor: Tensor]> {
  for (const [i, name] of names.entries()) {
    const there = zeros([...shapes[i]!], { dtype: dtypes[i]!, device: DEVICE });
    await channel.broadcast([there], 0);
    const tensor = there.toDevice("cpu");
    there.dispose();
    yield [name, tensor];
  }
}
