/**
 * @file NCCL's communicators with others, by what a caller gets: what is refused, and what waits and ends. That weights
 * arrive is in tests/generation/vllm/transfer.test.ts.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { joinNccl, ncclProblem, newNcclId, zeros } from "../../src/torch/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { buildNccl } from "../support/nccl/build.ts";
import { BUILD_TIMEOUT, DEVICE, loadStandin } from "../support/standin.ts";

let library: string;

beforeAll(async () => {
  library = await buildNccl(temporaryFolder());
  await loadStandin();
}, BUILD_TIMEOUT);

describe("a communicator with others", () => {
  it("says where there is no NCCL", () => {
    process.env.OPENMANUS_NCCL = "/nowhere/libnccl.so.2";
    expect(ncclProblem()).toMatch(/NCCL is not available .*say where its libnccl\.so\.2 is/);
    process.env.OPENMANUS_NCCL = library;
    expect(ncclProblem()).toBeUndefined();
    expect(newNcclId().length).toBe(128);
  });

  const joined = (rank: number, id: Uint8Array, device = DEVICE) =>
    joinNccl({ id, rank, world: 2, device, timeout: 1000 });

  it("is not for the CPU", async () => {
    const id = newNcclId();
    expect(() => joined(0, id, "cpu")).toThrow(/NCCL connects GPUs, .* is on the CPU; move it/);
    const [zero, one] = [joined(0, id), joined(1, id)];
    await Promise.all([zero.joined, one.joined]);
    await expect(zero.broadcast([zeros([2])], 0)).rejects.toThrow(/NCCL connects GPUs/);
    for (const channel of [zero, one]) channel.abort();
  });

  it("ends by itself when the others do not come, or when it is told to", async () => {
    await expect(joined(0, newNcclId()).joined).rejects.toThrow(/did not end within 1 s/);
    const stopped = joined(0, newNcclId());
    stopped.abort();
    stopped.abort();
    await expect(stopped.joined).rejects.toThrow("NCCL: the connection was ended");
  });
});
