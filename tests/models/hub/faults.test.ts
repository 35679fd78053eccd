/**
 * @file Files that come late, in pieces, wrong or never. Each ends within seconds, with a whole model or with a
 * sentence and nothing in the cache that is not whole.
 */
import {
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { HubError } from "../../../src/models/index.ts";
import { type FakeHub, type Fault, sha256 } from "./fake-hub.ts";
import {
  expectFailure,
  expectNothingWhole,
  filesBelow,
  flood,
  hubWithModel,
  modelFiles,
  WEIGHTS,
} from "./support.ts";

/** Of requests for the weights, at the store. */
const atStore =
  (answer: (response: ServerResponse, range: string | undefined) => boolean | undefined): Fault =>
  (request, response, { host }) =>
    host === "store" && answer(response, request.headers.range) !== false;

function drip(response: ServerResponse): void {
  const clock = setInterval(() => response.write("x"), 20);
  response.once("close", () => clearInterval(clock));
}

describe("a connection that is cut", () => {
  const half = () => Math.floor(WEIGHTS().length / 2);
  /** The first request is cut in the middle. */
  const cutOnce = (hub: FakeHub, then?: Fault): (() => (string | undefined)[]) => {
    const ranges: (string | undefined)[] = [];
    hub.fault = (request, response, seen) => {
      if (seen.host !== "store") return false;
      ranges.push(request.headers.range);
      if (ranges.length > 1) return then?.(request, response, seen) ?? false;
      response.writeHead(200, { "content-length": WEIGHTS().length });
      response.write(WEIGHTS().subarray(0, half()), () => setTimeout(() => response.destroy(), 20));
      return true;
    };
    return () => ranges;
  };

  it("goes on where it was", async () => {
    const { hub, fetch, place } = await hubWithModel();
    const ranges = cutOnce(hub);
    const { folder } = await fetch();
    expect(ranges()).toEqual([undefined, expect.stringMatching(/^bytes=[1-9]\d*-$/)]);
    expect(readFileSync(join(folder, "model.safetensors")).equals(WEIGHTS())).toBe(true);
    expect(filesBelow(place).join()).not.toMatch(/incomplete/);
  });

  it("goes on in the next call, and begins anew where what was there is wrong", async () => {
    const { hub, fetch, place } = await hubWithModel();
    cutOnce(hub);
    await expect(fetch({ limits: { attempts: 1 } })).rejects.toThrow(
      /cannot be reached|ended after/,
    );
    const part = join(place, "blobs", `${sha256(WEIGHTS())}.openmanus-rl.incomplete`);
    const { size } = statSync(part);
    expect(size).toBeGreaterThan(0);
    expect(existsSync(join(place, "snapshots"))).toBe(false);
    writeFileSync(part, Buffer.alloc(size, 1));
    hub.fault = () => false;
    const { folder } = await fetch();
    expect(readFileSync(join(folder, "model.safetensors")).equals(WEIGHTS())).toBe(true);
    const ranges = hub.seen
      .filter(({ host }) => host === "store")
      .map(({ headers }) => headers.range);
    expect(ranges).toEqual([undefined, `bytes=${size}-`, undefined]);
  });

  it("begins anew where ranges are ignored", async () => {
    const { hub, fetch } = await hubWithModel();
    cutOnce(hub, (_, response) => Boolean(response.writeHead(200).end(WEIGHTS())));
    const { folder } = await fetch();
    expect(readFileSync(join(folder, "model.safetensors")).equals(WEIGHTS())).toBe(true);
  });

  it.each<[string, (response: ServerResponse) => unknown]>([
    ["refused", (response) => response.writeHead(416).end()],
    [
      "another",
      (response) => response.writeHead(206, { "content-range": "bytes 3-9/10" }).end("0123456"),
    ],
  ])("begins anew where the range is %s", async (_, answer) => {
    const { hub, fetch } = await hubWithModel();
    let count = 0;
    cutOnce(hub, (_request, response) => count++ === 0 && Boolean(answer(response)));
    const { folder } = await fetch();
    expect(readFileSync(join(folder, "model.safetensors")).equals(WEIGHTS())).toBe(true);
  });

  it("a part that is a link to somewhere else is not written through", async () => {
    const { fetch, place, home } = await hubWithModel();
    const victim = join(home, "victim");
    writeFileSync(victim, "precious");
    mkdirSync(join(place, "blobs"), { recursive: true });
    symlinkSync(victim, join(place, "blobs", `${sha256(WEIGHTS())}.openmanus-rl.incomplete`));
    const { folder } = await fetch();
    expect(readFileSync(join(folder, "model.safetensors")).equals(WEIGHTS())).toBe(true);
    expect(readFileSync(victim, "utf8")).toBe("precious");
  });

  it("a part that is longer than the file is none", async () => {
    const { hub, fetch, place } = await hubWithModel();
    cutOnce(hub);
    await expect(fetch({ limits: { attempts: 1 } })).rejects.toThrow(HubError);
    truncateSync(
      join(place, "blobs", `${sha256(WEIGHTS())}.openmanus-rl.incomplete`),
      WEIGHTS().length + 1,
    );
    hub.fault = () => false;
    expect(readFileSync(join((await fetch()).folder, "model.safetensors")).equals(WEIGHTS())).toBe(
      true,
    );
  });

  it("a file that has changed in between is not put together", async () => {
    const setting = await hubWithModel();
    cutOnce(setting.hub);
    await expect(setting.fetch({ limits: { attempts: 1 } })).rejects.toThrow(HubError);
    setting.hub.fault = (_, response, { path }) =>
      path.endsWith("model.safetensors") &&
      Boolean(
        response.writeHead(302, { location: "/x", "x-linked-etag": `"${"0".repeat(64)}"` }).end(),
      );
    await expectFailure(setting, /the Hub has another file \(0{64}\) than it listed/);
    expectNothingWhole(setting);
  });
});

describe("what is no model's file", () => {
  const wrong = (): Buffer => {
    const bytes = Buffer.from(WEIGHTS());
    bytes[bytes.length - 1]! ^= 1;
    return bytes;
  };

  it.each<[string, (response: ServerResponse) => unknown, RegExp]>([
    [
      "one bit is another",
      (response) => response.writeHead(200).end(wrong()),
      /has the sum \(sha256\) \w{64}, but the Hub lists \w{64}\. It was removed/,
    ],
    [
      "it is shorter",
      (response) => response.writeHead(200).end("short"),
      /the connection ended after 5 of \d+ bytes/,
    ],
    [
      "it says that it is shorter",
      (response) => response.writeHead(200, { "content-length": 5 }).end("short"),
      /lists \d+ bytes, but 5 bytes are announced/,
    ],
    [
      "it does not end",
      (response) => flood(response.writeHead(200)),
      /lists \d+ bytes, but more is sent/,
    ],
    [
      "less comes than is said",
      (response) => {
        response.writeHead(200, { "content-length": WEIGHTS().length }).write("x");
        setTimeout(() => response.destroy(), 10);
      },
      /cannot be reached|ended after/,
    ],
    ["it drips", (response) => drip(response.writeHead(200)), /only \d+ bytes came in 0.3 s/],
    ["it stops", (response) => response.writeHead(200).write("x"), /nothing came for 0.7 s/],
    [
      "the store knows nothing",
      (response) => response.writeHead(403).end("<xml>"),
      /the answer was 403/,
    ],
  ])("%s", async (_, answer, sentence) => {
    const setting = await hubWithModel();
    setting.hub.fault = atStore((response) => Boolean(answer(response)) || true);
    await expectFailure(setting, sentence);
    expectNothingWhole(setting);
  });

  it("a small file whose sum is wrong", async () => {
    const setting = await hubWithModel();
    setting.hub.fault = (_, response, { path }) =>
      path.endsWith("/config.json") &&
      Boolean(response.end(modelFiles()["config.json"]!.map((b) => b ^ 1)));
    await expectFailure(setting, /config\.json: what came has the sum \(git\)/);
    expectNothingWhole(setting);
  });

  it("a kind of model that there is not: known before its weights are fetched", async () => {
    const setting = await hubWithModel({
      "config.json": '{"model_type": "mamba", "architectures": ["Mamba"]}',
    });
    await expect(setting.fetch()).rejects.toThrow(/tiny-org\/tiny-model, config\.json: .*[Mm]amba/);
    expect(setting.hub.seen.some(({ host }) => host === "store")).toBe(false);
  });

  it.each<[string, Readonly<Record<string, string>>, RegExp]>([
    [
      "only pickled weights",
      { "config.json": "{}", "pytorch_model.bin": "x" },
      /weights are pickled/,
    ],
    [
      "an adapter",
      { "adapter_config.json": "{}", "adapter_model.safetensors": "x" },
      /holds an adapter/,
    ],
    ["GGUF", { "model.Q4_0.gguf": "x" }, /GGUF/],
    ["nothing", { "README.md": "x" }, /has no config\.json/],
  ])("%s", async (_, files, sentence) => {
    const setting = await hubWithModel();
    setting.hub.add("tiny-org/other", files);
    await expectFailure(setting, sentence, "tiny-org/other");
  });
});

describe("being stopped", () => {
  it("ends at once, and the next call goes on", async () => {
    const setting = await hubWithModel();
    const stop = new AbortController();
    setting.hub.fault = atStore((response) => {
      response
        .writeHead(200, { "content-length": WEIGHTS().length })
        .write(WEIGHTS().subarray(0, 1000));
      setTimeout(() => stop.abort(new Error("enough")), 50);
      return true;
    });
    await expect(setting.fetch({ signal: stop.signal })).rejects.toThrow("enough");
    expectNothingWhole(setting);
    setting.hub.fault = () => false;
    await setting.fetch();
    expect(setting.hub.seen.at(-1)!.headers.range).toMatch(/^bytes=[1-9]\d*-$/);
  });
});
