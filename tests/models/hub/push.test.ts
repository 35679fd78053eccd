/**
 * @file Models to a hub: one commit with all of it, or nothing.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadModel, type PushOptions, pushModel } from "../../../src/models/index.ts";
import { temporaryFolder } from "../../rollout/support.ts";
import { sendError, sendJson, sha256 } from "./fake-hub.ts";
import { hubWithModel, modelFiles, NAME, QUICK, TOKEN } from "./support.ts";

const MINE = "me/mine";

function folderOfModel(): string {
  const folder = join(temporaryFolder(), "model");
  mkdirSync(folder);
  for (const [name, bytes] of Object.entries(modelFiles()))
    writeFileSync(join(folder, name), bytes);
  // What lies there besides is nobody's business.
  writeFileSync(join(folder, "notes.txt"), "secret");
  writeFileSync(join(folder, ".env"), "secret");
  writeFileSync(join(folder, "optimizer.bin"), "secret");
  return folder;
}

async function hubToPush() {
  const setting = await hubWithModel();
  setting.hub.token = TOKEN;
  const variables = { ...setting.variables, HF_TOKEN: TOKEN };
  const folder = folderOfModel();
  return {
    ...{ ...setting, variables, folder },
    push: (options: PushOptions = {}, name = MINE) =>
      pushModel(folder, name, { variables, ...options, limits: { ...QUICK, ...options.limits } }),
    filesOf: (name: string, revision = "main") => {
      const repository = setting.hub.repositories.get(name);
      return repository?.trees.get(repository.revisions.get(revision) ?? "");
    },
  };
}

const names = (tree: ReadonlyMap<string, unknown> | undefined) => [...(tree?.keys() ?? [])].sort();

describe("a model that is pushed", () => {
  it("is there with its card and nothing else, and can be fetched and loaded", async () => {
    const { hub, push, filesOf, fetch, variables } = await hubToPush();
    const shown: number[] = [];
    const found = await push({
      texts: { "README.md": "# mine" },
      onProgress: (done, total) => void shown.push(done / total),
    });
    const weights = modelFiles()["model.safetensors"]!;
    const expected = [...Object.keys(modelFiles()), "README.md", ".gitattributes"];
    expect(names(filesOf(MINE))).toEqual(expected.sort());
    expect(filesOf(MINE)!.get("README.md")!.bytes.toString()).toBe("# mine");
    expect(filesOf(MINE)!.get("model.safetensors")!.bytes.equals(weights)).toBe(true);
    expect(found.url).toBe(`${hub.url}/${MINE}`);
    expect(shown.at(-1)).toBe(1);
    const puts = hub.seen.filter(({ method }) => method === "PUT");
    expect(puts).toHaveLength(1);
    expect(puts[0]!.headers.authorization).toBeUndefined();
    expect(puts[0]!.headers["transfer-encoding"]).toBeUndefined();
    const fetched = await fetch({ name: found.model, variables });
    loadModel(fetched.folder).dispose();
  });

  it("is sent in parts where the hub asks for it, and only once", async () => {
    const { hub, push, filesOf } = await hubToPush();
    hub.uploads.partSize = 100_000;
    const first = await push();
    const weights = modelFiles()["model.safetensors"]!;
    const puts = () => hub.seen.filter(({ method }) => method === "PUT").length;
    expect(puts()).toBe(Math.ceil(weights.length / 100_000));
    expect(filesOf(MINE)!.get("model.safetensors")!.bytes.equals(weights)).toBe(true);
    const before = puts();
    const again = await push();
    expect(puts()).toBe(before);
    expect(again.sent).toBeLessThan(first.sent);
    expect(again.bytes).toBe(first.bytes);
  });

  it("private, on a branch, and without large files", async () => {
    const { hub, folder, push, filesOf } = await hubToPush();
    await push({ isPrivate: true });
    expect(hub.repositories.get(MINE)!.isPrivate).toBe(true);
    await push({ revision: "try/1", texts: { "README.md": "branch" } });
    expect(names(filesOf(MINE, "try/1"))).toContain("README.md");
    expect(names(filesOf(MINE))).not.toContain("README.md");
    // A hub may take everything in the commit.
    hub.fault = (request, response, { path }) => {
      if (!path.includes("/preupload/")) return false;
      const pieces: Buffer[] = [];
      request.on("data", (piece: Buffer) => void pieces.push(piece));
      request.on("end", () => {
        const { files } = JSON.parse(Buffer.concat(pieces).toString()) as {
          files: { path: string }[];
        };
        sendJson(response, {
          files: files.map(({ path: file }) => ({ path: file, uploadMode: "regular" })),
        });
      });
      return true;
    };
    const before = hub.seen.length;
    await pushModel(folder, "me/small", {
      ...{ variables: { HF_ENDPOINT: hub.url, HF_TOKEN: TOKEN }, limits: QUICK },
    });
    expect(hub.seen.slice(before).some(({ path }) => path.includes("lfs"))).toBe(false);
    expect(names(filesOf("me/small"))).toContain("model.safetensors");
  });

  it("where the token may write to it, but make none", async () => {
    const { hub, push, filesOf } = await hubToPush();
    hub.fault = (_, response, { path }) =>
      path === "/api/repos/create" && (sendError(response, 403, "", "no") ?? true);
    await expect(push()).rejects.toThrow(/does not let you have it \(403: no\)/);
    await push({}, NAME);
    expect(names(filesOf(NAME))).toContain("config.json");
  });
});

describe("nothing is pushed", () => {
  it.each<[string, PushOptions, string, RegExp]>([
    ["without a token", { variables: {} }, MINE, /needs a token that may write.*HF_TOKEN/],
    ["offline", { variables: { HF_HUB_OFFLINE: "1" } }, MINE, /HF_HUB_OFFLINE/],
    ["to what is no name", {}, "mine", /"mine" .* is no place on the Hub/],
    ["to a commit", { revision: "a".repeat(40) }, MINE, /the name of a branch/],
    ["to a branch that is a path", { revision: "../x" }, MINE, /the name of a branch/],
  ])("%s", async (_, options, name, sentence) => {
    const { push, hub } = await hubToPush();
    await expect(push(options, name)).rejects.toThrow(sentence);
    expect(hub.seen).toEqual([]);
  });

  it("with a wrong token, and nobody is shown it", async () => {
    const { push, hub } = await hubToPush();
    hub.token = "hf_another";
    await expect(push()).rejects.toThrow(/does not take your token/);
    await expect(push()).rejects.not.toThrow(TOKEN);
  });

  it.each<[string, RegExp, number, string, RegExp]>([
    ["creation", /create$/, 500, "", /trouble of its own/],
    ["pre-upload", /preupload/, 403, "", /does not let you have it/],
    ["the batch", /batch$/, 403, "", /does not let you have it/],
    ["the store", /^\/put\//, 400, "", /where its files are kept, the answer was 400/],
    [
      "the commit",
      /commit\/main$/,
      412,
      "a commit has happened since",
      /412: a commit has happened/,
    ],
  ])("where %s is refused", async (_, place, status, text, sentence) => {
    const { push, hub, filesOf } = await hubToPush();
    hub.fault = (request, response, { path }) => {
      if (!place.test(path)) return false;
      request.resume();
      return sendError(response, status, "", text) ?? true;
    };
    await expect(push()).rejects.toThrow(sentence);
    expect(names(filesOf(MINE)).filter((name) => name !== ".gitattributes")).toEqual([]);
  });

  it.each<[string, object, RegExp]>([
    [
      "takes no object",
      { error: { code: 422, message: "too large" } },
      /does not take model\.safetensors .*too large/,
    ],
    ["names a file", { actions: { upload: { href: "file:///x" } } }, /expected https:/],
    [
      "wants too many parts",
      {
        actions: {
          upload: {
            href: "http://127.0.0.1:1/",
            header: { chunk_size: "1", "00001": "http://127.0.0.1:1/" },
          },
        },
      },
      /as 1 parts of "1" bytes/,
    ],
  ])("where the batch %s", async (_, answer, sentence) => {
    const { push, hub } = await hubToPush();
    hub.fault = (request, response, { path }) => {
      if (!path.endsWith("batch")) return false;
      request.resume();
      const weights = modelFiles()["model.safetensors"]!;
      return sendJson(response, { objects: [{ oid: sha256(weights), ...answer }] }) ?? true;
    };
    await expect(push()).rejects.toThrow(sentence);
  });

  it("of a folder that holds no whole model", async () => {
    const { variables, hub } = await hubToPush();
    const folder = temporaryFolder();
    writeFileSync(join(folder, "config.json"), "{}");
    await expect(pushModel(folder, MINE, { variables })).rejects.toThrow(/no whole model in/);
    const index = { weight_map: { a: "model-00001-of-00001.safetensors" } };
    writeFileSync(join(folder, "model.safetensors.index.json"), JSON.stringify(index));
    await expect(pushModel(folder, MINE, { variables })).rejects.toThrow(/no whole model in/);
    expect(hub.seen).toEqual([]);
  });
});
