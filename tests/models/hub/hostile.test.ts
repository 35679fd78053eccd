/**
 * @file Hubs that send elsewhere, say no, or list what means no good. Each ends within seconds with a sentence,
 * tells nobody else the token, and leaves nothing in the cache that is not whole.
 */
import { existsSync, readdirSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Fault, fakeHub, sendError, sendJson } from "./fake-hub.ts";
import {
  expectFailure,
  expectNothingWhole,
  flood,
  hubWithModel,
  modelFiles,
  NAME,
  TOKEN,
  WEIGHTS,
} from "./support.ts";

describe("redirects", () => {
  it("to another host go without the token, also when that leads back", async () => {
    const setting = await hubWithModel();
    const { hub } = setting;
    hub.token = TOKEN;
    let back = 0;
    hub.fault = (request, response, { host, path }) => {
      if (path === "/back") {
        back++;
        expect(request.headers.authorization).toBeUndefined();
        return Boolean(response.end(WEIGHTS()));
      }
      return (
        host === "store" && Boolean(response.writeHead(302, { location: `${hub.url}/back` }).end())
      );
    };
    await setting.fetch({ variables: { ...setting.variables, HF_TOKEN: TOKEN } });
    expect(back).toBe(1);
    const [own, others] = ["hub", "store"].map((host) =>
      hub.seen.filter((one) => one.host === host),
    );
    expect(own!.some(({ headers }) => headers.authorization === `Bearer ${TOKEN}`)).toBe(true);
    expect(others!.some(({ headers }) => headers.authorization !== undefined)).toBe(false);
    expect(others!.length).toBeGreaterThan(0);
  });

  it("of a renamed model, at the same host, keep it", async () => {
    const setting = await hubWithModel();
    const { hub } = setting;
    hub.token = TOKEN;
    hub.repositories.get(NAME)!.isPrivate = true;
    hub.fault = (request, response, { path }) =>
      path.includes("old/name") &&
      Boolean(response.writeHead(307, { location: request.url!.replace("old/name", NAME) }).end());
    const variables = { ...setting.variables, HF_TOKEN: TOKEN };
    const found = await setting.fetch({ name: "old/name", variables });
    expect(found.commit).toBe(setting.commit);
  });

  it.each([
    ["in circles", "", /redirects more than 5 times/],
    [
      "to a file",
      "file:///etc/passwd",
      /redirects to file:\/\/\/etc\/passwd, which is not followed/,
    ],
    ["nowhere", "http://[", /redirects to http:\/\/\[, which is not followed/],
  ])("%s", async (_, target, sentence) => {
    const setting = await hubWithModel();
    setting.hub.fault = (request, response) =>
      Boolean(response.writeHead(302, { location: target || request.url! }).end());
    await expectFailure(setting, sentence);
    expect(setting.hub.seen.length).toBeLessThan(10);
  });
});

describe("a hub that says no", () => {
  it.each<[string, (response: ServerResponse) => unknown, RegExp, number]>([
    ["401", (response) => sendError(response, 401, "RepoNotFound"), /does not take your token/, 1],
    [
      "403",
      (response) => sendError(response, 403, "GatedRepo", "Access to model is restricted"),
      /it is gated \(403: Access to model is restricted\): ask for access at .*tiny-org\/tiny-model,/,
      1,
    ],
    ["404", (response) => sendError(response, 404, "RepoNotFound"), /there is no such model/, 1],
    [
      "a revision",
      (response) => sendError(response, 404, "RevisionNotFound"),
      /no such revision/,
      1,
    ],
    [
      "429",
      (response) => response.writeHead(429, { "retry-after": "9999" }).end(),
      /asked too often/,
      3,
    ],
    ["500", (response) => response.writeHead(500).end("<html>"), /trouble of its own \(500\)/, 3],
    [
      "with the token in it",
      (response) => sendError(response, 400, "", `bad ${TOKEN}`),
      /answered 400: bad …/,
      1,
    ],
    [
      "what commands the terminal",
      (response) => response.writeHead(400).end("\u001b[2J\u0007no"),
      /400: \[2J no/,
      1,
    ],
    ["without end", (response) => flood(response.writeHead(400)), /answered 400/, 1],
    ["not at all", () => {}, /nothing came for 0.7 s/, 3],
    [
      "what is no JSON",
      (response) => response.end("hello"),
      /something that is not JSON: "hello"/,
      1,
    ],
  ])("%s", async (_, answer, sentence, times) => {
    const setting = await hubWithModel();
    setting.hub.fault = (_request, response) => {
      answer(response);
      return true;
    };
    await expectFailure(setting, sentence);
    expect(setting.hub.seen).toHaveLength(times);
    expect(existsSync(setting.cache)).toBe(false);
  });

  it("and then yes: it is asked again, after as long as it says", async () => {
    const setting = await hubWithModel();
    let count = 0;
    setting.hub.fault = (_, response) =>
      count++ < 2 &&
      Boolean(response.writeHead(count === 1 ? 503 : 429, { "retry-after": "1" }).end());
    const begun = performance.now();
    await setting.fetch({ limits: { pause: 1, longestPause: 120 } });
    expect(performance.now() - begun).toBeGreaterThan(200);
  });

  it("is not asked with a token over http, where others listen", async () => {
    const { fetch } = await hubWithModel();
    const variables = { HF_ENDPOINT: "http://192.0.2.1", HF_TOKEN: TOKEN };
    await expect(fetch({ variables })).rejects.toThrow(/everybody could read your token/);
    await expect(fetch({ variables: { HF_ENDPOINT: "http://user:pass@x" } })).rejects.toThrow(
      /HF_ENDPOINT is "http:\/\/…@x", expected an address/,
    );
  });
});

describe("a list that means no good", () => {
  const DEEP = "[".repeat(100_000) + "]".repeat(100_000);
  const listing =
    (list: unknown): Fault =>
    (_, response, { path }) =>
      path.includes("/tree/") &&
      Boolean(response.end(typeof list === "string" ? list : JSON.stringify(list)));
  const entry = (path: string, more: object = {}) => {
    const bytes = modelFiles()["config.json"]!;
    return { type: "file", path, size: bytes.length, oid: "a".repeat(40), ...more };
  };

  it.each<[string, unknown, RegExp]>([
    [
      "paths that lead out",
      ["../config.json", "/config.json", "a/../../config.json", "..", "config.json\0"].map((path) =>
        entry(path),
      ),
      /has no config\.json/,
    ],
    [
      "a sum that is a path",
      [entry("config.json", { oid: "../../../x" })],
      /the sum of config\.json is "\.\.\/\.\.\/\.\.\/x"/,
    ],
    [
      "a large file's sum that is a path",
      [entry("config.json", { lfs: { oid: `../${"a".repeat(61)}`, size: 3 } })],
      /expected a SHA-256/,
    ],
    ["a size that is none", [entry("config.json", { size: -1 })], /the size of config\.json is -1/],
    [
      "a size larger than any disk",
      [entry("config.json", { size: 2 ** 52 }), entry("model.safetensors")],
      /needs 4503599\.63 GB more/,
    ],
    ["no list", { files: [] }, /expected a list/],
    ["too deep", DEEP, /has no config\.json/],
  ])("%s", async (_, list, sentence) => {
    const setting = await hubWithModel();
    setting.hub.fault = listing(list);
    await expectFailure(setting, sentence);
    expectNothingWhole(setting);
  });

  it("a commit that is a path", async () => {
    const setting = await hubWithModel();
    setting.hub.fault = (_, response) => Boolean(response.end('{"sha": "../../../../tmp/x"}'));
    await expectFailure(setting, /sha is "\.\.\/.*expected a commit/);
  });

  it("an index that names what leads out, or is not there", async () => {
    const setting = await hubWithModel();
    const { "model.safetensors": _, ...rest } = modelFiles();
    for (const [shard, sentence] of [
      ["../../x.safetensors", /weight_map names/],
      ["gone.safetensors", /names gone\.safetensors, which the repository does not have/],
    ] as const) {
      const index = JSON.stringify({ weight_map: { a: shard } });
      setting.hub.add("tiny-org/sharded", { ...rest, "model.safetensors.index.json": index });
      await expect(setting.fetch({ name: "tiny-org/sharded" })).rejects.toThrow(sentence);
    }
    expect(readdirSync(join(setting.cache, "models--tiny-org--sharded"))).toEqual(["blobs"]);
  });

  it("a million files, or pages without end", async () => {
    const setting = await hubWithModel();
    const many = Array.from({ length: 1000 }, (_, i) => entry(`file-${i}.txt`));
    const text = JSON.stringify(many).slice(1, -1);
    setting.hub.fault = (_, response, { path }) => {
      if (!path.includes("/tree/")) return false;
      response.writeHead(200).write("[");
      flood(response, `${text},`);
      return true;
    };
    await expectFailure(setting, /the answer has more than 32 MB/, NAME, {
      silence: 5000,
      time: 5000,
    });
    setting.hub.fault = (request, response, { path }) => {
      if (!path.includes("/tree/")) return false;
      response.setHeader("link", `<${request.url}?more>; rel="next"`);
      return sendJson(response, [entry("a.txt")]) ?? true;
    };
    await expectFailure(setting, /more than 20 pages/);
  });

  it("a next page at another host is not asked for", async () => {
    const setting = await hubWithModel();
    const other = await fakeHub();
    setting.hub.fault = (_, response) => {
      response.setHeader("link", `<${other.url}/x>; rel="next"`);
      return false;
    };
    await setting.fetch();
    expect(other.seen).toEqual([]);
    await other.close();
  });
});
