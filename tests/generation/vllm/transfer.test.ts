/**
 * @file Weights to a server by NCCL, with the stand-ins for NCCL and for a device: what arrives is what was sent, in its
 * order; a server that refuses, leaves or says nothing ends it with a sentence.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { endpointsOf } from "../../../src/generation/vllm/endpoints.ts";
import { inTurn, openTransfer } from "../../../src/generation/vllm/transfer.ts";
import { type OpenServer, openServer } from "../../../src/network/index.ts";
import { fromTypedArray, type NcclChannel, type Tensor } from "../../../src/torch/index.ts";
import { temporaryFolder } from "../../rollout/support.ts";
import { buildNccl } from "../../support/nccl/build.ts";
import { BUILD_TIMEOUT, DEVICE, loadStandin } from "../../support/standin.ts";
import { type InitInfo, joinAsWorker, received, type UpdateInfo } from "./receiver.ts";

beforeAll(async () => {
  process.env.OPENMANUS_NCCL = await buildNccl(temporaryFolder());
  await loadStandin();
}, BUILD_TIMEOUT);

interface Fake {
  readonly url: string;
  /** Endpoints in the order in which they were asked. */
  readonly asked: string[];
  /** By worker: names and numbers in the order in which they came. */
  readonly took: [string, string, number[]][][];
}

interface Faults {
  readonly workers?: number;
  /** What it does instead of an endpoint. */
  readonly instead?: Record<string, (channel: NcclChannel | undefined, body: unknown) => unknown>;
}

let server: OpenServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

/** A server as vLLM's is, with so many processes. */
async function fake({ workers = 1, instead = {} }: Faults = {}): Promise<Fake> {
  const asked: string[] = [];
  const took: Fake["took"] = Array.from({ length: workers }, () => []);
  const channels: NcclChannel[] = [];
  const own: Record<string, (body: never) => unknown> = {
    "/get_world_size": () => ({ world_size: workers }),
    "/init_weight_transfer_engine": async ({ init_info: info }: { init_info: InitInfo }) => {
      expect(info.packed).toBe(false);
      const joining = took.map((_, worker) => joinAsWorker(info, worker));
      channels.push(...(await Promise.all(joining)));
    },
    "/update_weights": async ({ update_info: info }: { update_info: UpdateInfo }) => {
      const taking = channels.map(async (channel, worker) => {
        for await (const [name, tensor] of received(channel, info))
          took[worker]!.push([name, tensor.dtype, [...tensor.to("float32").toNumbers()]]);
      });
      await Promise.all(taking);
    },
    "/reset_prefix_cache": () => ({ success: true }),
  };
  server = await openServer({
    answerSeconds: 600,
    handler: async (request) => {
      const { pathname } = new URL(request.url);
      asked.push(pathname);
      const body = request.method === "POST" ? ((await request.json()) as never) : undefined;
      const fault = instead[pathname];
      const answer = await (fault ? fault(channels[0], body) : own[pathname]?.(body as never));
      return answer instanceof Response ? answer : Response.json(answer ?? { message: "done" });
    },
  });
  return { url: server.url, asked, took };
}

const numbers = (count: number, first: number) =>
  Float32Array.from({ length: count }, (_, i) => first + i / 8);

function weights(): Map<string, Tensor> {
  const made = (shape: number[], first: number) =>
    fromTypedArray(
      numbers(
        shape.reduce((a, b) => a * b, 1),
        first,
      ),
      shape,
      { device: DEVICE },
    );
  return new Map([
    ["model.norm.weight", made([7], 1)],
    // Not in the order of its memory.
    ["model.layers.0.up.weight", made([3, 5], 2).t()],
    ["lm_head.weight", made([4, 2, 3], 3)],
  ]);
}

const open = (url: string, own: { dtype?: "bfloat16"; time?: number } = {}) =>
  openTransfer(endpointsOf(url, undefined), {
    ...{ device: DEVICE, dtype: "float32", time: 60_000, ...own },
  });

const failure = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "it went well",
    (error: Error) => error.message,
  );

describe("weights by NCCL", () => {
  it.each([1, 2])("arrive as they are, in their order, at %i processes", async (workers) => {
    const { url, took, asked } = await fake({ workers });
    const transfer = await open(url);
    await transfer.send(weights(), "7");
    const expected = Array.from(weights(), ([name, tensor]) => [
      ...[name, "float32", [...tensor.toNumbers()]],
    ]);
    for (const one of took) expect(one).toEqual(expected);
    expect(transfer.version).toBe("7");
    await transfer.send(weights(), "8");
    for (const one of took) expect(one).toEqual([...expected, ...expected]);
    transfer.close();
    const update = [
      ...["/pause", "/start_weight_update", "/update_weights", "/finish_weight_update"],
      ...["/reset_prefix_cache", "/update_weight_version", "/resume"],
    ];
    const opening = ["/get_world_size", "/init_weight_transfer_engine"];
    expect(asked).toEqual([...opening, ...update, ...update]);
  });

  it("are rounded to what the server computes with", async () => {
    const { url, took } = await fake();
    const transfer = await open(url, { dtype: "bfloat16" });
    await transfer.send(weights(), "1");
    transfer.close();
    expect(took[0]).toEqual(
      Array.from(weights(), ([name, tensor]) => [
        ...[name, "bfloat16", [...tensor.to("bfloat16").to("float32").toNumbers()]],
      ]),
    );
  });

  it("go to one server after the other", async () => {
    const order: string[] = [];
    const turn = (name: string) =>
      inTurn(async () => {
        order.push(`${name} begins`);
        await sleep(20);
        order.push(`${name} ends`);
        if (name === "a") throw new Error("gone");
      });
    const [a] = await Promise.allSettled([turn("a"), turn("b")]);
    expect(a.status).toBe("rejected");
    expect(order).toEqual(["a begins", "a ends", "b begins", "b ends"]);
  });
});

describe("a server that", () => {
  const refused = () => Response.json({ error: { message: "not configured" } }, { status: 500 });

  it("cannot transfer is told what it needs", async () => {
    const { url } = await fake({ instead: { "/init_weight_transfer_engine": refused } });
    expect(await failure(open(url))).toMatch(
      /did not meet in NCCL: .*not configured.*--weight-transfer-config '\{"backend":"nccl"\}'/,
    );
  });

  it("does not come is given up", async () => {
    const { url } = await fake({
      instead: { "/init_weight_transfer_engine": () => sleep(60_000, undefined, { ref: false }) },
    });
    expect(await failure(open(url, { time: 1500 }))).toMatch(
      /did not meet in NCCL: .*within 1\.5 s|did not end within 1 s/,
    );
  });

  it("refuses an update is not waited for, nor asked twice", async () => {
    const { url, asked } = await fake({ instead: { "/update_weights": refused } });
    const transfer = await open(url);
    expect(await failure(transfer.send(weights(), "1"))).toMatch(
      /weights did not arrive over NCCL: .*not configured/,
    );
    expect(asked.filter((path) => path === "/update_weights").length).toBe(1);
    expect(asked).not.toContain("/resume");
    expect(transfer.version).toBeUndefined();
  });

  it("leaves in the middle ends it", async () => {
    const { url } = await fake({
      instead: {
        "/update_weights": async (channel, body) => {
          const { update_info: info } = body as { update_info: UpdateInfo };
          for await (const _ of received(channel!, info)) break;
          channel!.abort();
          await sleep(60_000, undefined, { ref: false });
        },
      },
    });
    const transfer = await open(url);
    expect(await failure(transfer.send(weights(), "1"))).toMatch(
      /weights did not arrive over NCCL: NCCL: .*the connection broke/,
    );
  });

  it("says nothing any more ends it in time", async () => {
    const { url } = await fake({
      instead: { "/update_weights": () => sleep(60_000, undefined, { ref: false }) },
    });
    const transfer = await open(url, { time: 1500 });
    const begun = performance.now();
    expect(await failure(transfer.send(weights(), "1"))).toMatch(
      /weights did not arrive over NCCL: /,
    );
    expect(performance.now() - begun).toBeLessThan(10_000);
  });

  it("expects other weights ends it", async () => {
    const { url } = await fake({
      instead: {
        "/update_weights": async (channel, body) => {
          const { update_info: info } = body as { update_info: UpdateInfo };
          const other = { ...info, shapes: info.shapes.map((shape) => [...shape, 2]) };
          for await (const _ of received(channel!, other));
        },
      },
    });
    const transfer = await open(url);
    expect(await failure(transfer.send(weights(), "1"))).toMatch(/weights did not arrive over/);
  });
});
