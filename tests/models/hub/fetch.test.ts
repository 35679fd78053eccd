/**
 * @file Models from a hub: what is fetched, where it is kept, and when nothing is.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { hubNameIn, loadChat, loadModel, modelFolderOf } from "../../../src/models/index.ts";
import { temporaryFolder } from "../../rollout/support.ts";
import { gitSum, sendFile, sha256 } from "./fake-hub.ts";
import { filesBelow, hubWithModel, modelFiles, NAME, TOKEN } from "./support.ts";

describe("names", () => {
  it.each([
    "Qwen/Qwen2.5-0.5B-Instruct",
    "a/b",
    "org/name@main",
    "org/name@refs/pr/1",
    "o_/n@v1.0",
  ])("%s is one", (text) => expect(hubNameIn(text)).toBeDefined());

  it.each([
    ...[
      "qwen",
      "a/b/c",
      "../x",
      "./a/b",
      "/a/b",
      "a/..",
      "a/b--c",
      "a/-b",
      "a/b.git",
      "",
      "a/b@",
      "~/x",
    ],
    ...[
      "a/b@../../x",
      "a/b@/etc",
      "a/b@x/../y",
      "a/b\0",
      "a b/c",
      `a/${"x".repeat(97)}`,
      "a/b@x/.y",
    ],
  ])("%j is none", (text) => expect(hubNameIn(text)).toBeUndefined());
});

describe("a model that is fetched", () => {
  it("can be loaded, and lies as in Python's cache", async () => {
    const { fetch, commit, place, hub } = await hubWithModel({
      "README.md": "# no part of it",
      "pytorch_model.bin": "pickled",
      "modeling_own.py": "import os",
      "onnx/model.safetensors": "deeper",
    });
    const shown: number[] = [];
    const said: string[] = [];
    const found = await fetch({
      say: (text) => void said.push(text),
      onProgress: (done, total) => void shown.push(done / total),
    });
    expect(found).toMatchObject({ name: NAME, commit, model: `${NAME}@${commit}` });
    expect(found.folder).toBe(join(place, "snapshots", commit));
    loadModel(found.folder).dispose();
    expect(loadChat(found.folder).promptIds([{ role: "user", content: "hi" }])).not.toEqual([]);
    const files = modelFiles();
    expect(readdirSync(found.folder).sort()).toEqual(Object.keys(files).sort());
    for (const [name, bytes] of Object.entries(files)) {
      const sum = name.endsWith(".safetensors") ? sha256(bytes) : gitSum(bytes);
      expect(readlinkSync(join(found.folder, name))).toBe(`../../blobs/${sum}`);
      expect(readFileSync(join(found.folder, name)).equals(bytes)).toBe(true);
    }
    expect(readFileSync(join(place, "refs", "main"), "utf8")).toBe(commit);
    expect(readdirSync(join(place, "blobs"))).toHaveLength(Object.keys(files).length);
    expect(shown.at(-1)).toBe(1);
    expect(said.join()).toMatch(/fetching tiny-org\/tiny-model@\w{8}: [\d.]+ MB/);
    expect(hub.seen.map(({ path }) => path).join()).not.toMatch(/README|\.bin|\.py|onnx/);
    // And a second time, nothing but the list.
    const before = hub.seen.length;
    expect((await fetch()).fetched).toBe(0);
    expect(hub.seen.slice(before).filter(({ path }) => path.includes("resolve"))).toEqual([]);
  });

  it("in shards: those that its index names", async () => {
    const { hub, fetch } = await hubWithModel();
    const { "model.safetensors": whole, ...rest } = modelFiles();
    const index = {
      weight_map: { a: "model-00001-of-00002.safetensors", b: "model-00002-of-00002.safetensors" },
    };
    hub.add("tiny-org/sharded", {
      ...rest,
      "model.safetensors.index.json": JSON.stringify(index),
      "model-00001-of-00002.safetensors": whole!.subarray(0, 500),
      "model-00002-of-00002.safetensors": whole!.subarray(500),
      "consolidated.safetensors": "the same again",
    });
    const { folder } = await fetch({ name: "tiny-org/sharded" });
    expect(readdirSync(folder)).toContain("model-00002-of-00002.safetensors");
    expect(readdirSync(folder)).not.toContain("consolidated.safetensors");
  });

  it("by a branch, a pull request and a commit", async () => {
    const { hub, commit, fetch, place, variables } = await hubWithModel();
    const other = hub.add(NAME, { ...modelFiles(), "generation_config.json": "{}" }, "refs/pr/1");
    expect((await fetch({ name: `${NAME}@refs/pr/1` })).commit).toBe(other);
    expect(readFileSync(join(place, "refs", "refs", "pr", "1"), "utf8")).toBe(other);
    const before = hub.seen.length;
    const found = await fetch({ name: `${NAME}@${commit}` });
    expect(found.commit).toBe(commit);
    expect(hub.seen.slice(before).some(({ path }) => path.includes("/revision/"))).toBe(false);
    // Equal files of both commits are one.
    expect(found.fetched).toBeLessThan(1000);
    expect(modelFolderOf(`${NAME}@${commit}`, variables)).toBe(found.folder);
    expect(modelFolderOf(`${NAME}@main`, variables)).toBe(`${NAME}@main`);
  });

  it("goes where the variables say", async () => {
    const { fetch, variables } = await hubWithModel();
    const elsewhere = temporaryFolder();
    const found = await fetch({ variables: { ...variables, HF_HUB_CACHE: elsewhere } });
    expect(found.folder.startsWith(elsewhere)).toBe(true);
  });

  it("with the token of a variable or of the file, where it is private", async () => {
    const { hub, fetch, variables, home } = await hubWithModel();
    hub.repositories.get(NAME)!.isPrivate = true;
    hub.token = TOKEN;
    await expect(fetch()).rejects.toThrow(/private or gated and needs a token.*HF_TOKEN/);
    await fetch({ variables: { ...variables, HF_TOKEN: TOKEN } });
    writeFileSync(join(home, "token"), `${TOKEN}\n`);
    hub.repositories.get(NAME)!.trees.clear();
    hub.add(NAME, { ...modelFiles(), "vocab.txt": "other" });
    await fetch();
    const asked = hub.seen.filter(({ headers }) => headers.authorization !== undefined);
    expect(asked.length).toBeGreaterThan(0);
    expect(new Set(asked.map(({ host }) => host))).toEqual(new Set(["hub"]));
    expect(hub.seen.some(({ host }) => host === "store")).toBe(true);
  });
});

describe("the cache in the Hub's place", () => {
  it("offline: what is there, or a sentence", async () => {
    const { fetch, variables, hub, commit } = await hubWithModel();
    const offline = { ...variables, HF_HUB_OFFLINE: "1" };
    await expect(fetch({ variables: offline })).rejects.toThrow(
      /not whole in the Hub's cache.*HF_HUB_OFFLINE/s,
    );
    await fetch();
    const before = hub.seen.length;
    expect((await fetch({ variables: offline })).commit).toBe(commit);
    expect((await fetch({ name: `${NAME}@${commit}`, variables: offline })).commit).toBe(commit);
    await expect(fetch({ name: `${NAME}@v2`, variables: offline })).rejects.toThrow(
      /no model in "tiny-org\/tiny-model@v2"/,
    );
    expect(hub.seen).toHaveLength(before);
  });

  it("offline, a snapshot that lacks its weights is none", async () => {
    const { fetch, variables, place, commit } = await hubWithModel();
    mkdirSync(join(place, "snapshots", commit), { recursive: true });
    mkdirSync(join(place, "refs"));
    writeFileSync(join(place, "refs", "main"), commit);
    writeFileSync(join(place, "snapshots", commit, "config.json"), "{}");
    await expect(fetch({ variables: { ...variables, HF_HUB_OFFLINE: "1" } })).rejects.toThrow(
      /not whole/,
    );
  });

  it("where the Hub is away, with a word", async () => {
    const { fetch, hub, commit } = await hubWithModel();
    await fetch();
    hub.fault = (_, response) => Boolean(response.destroy());
    const said: string[] = [];
    expect((await fetch({ say: (text) => void said.push(text) })).commit).toBe(commit);
    expect(said.join()).toMatch(/cannot be reached .* what is in the cache has to do/);
  });

  it("but not where it says no", async () => {
    const { fetch, hub } = await hubWithModel();
    await fetch();
    hub.repositories.delete(NAME);
    await expect(fetch()).rejects.toThrow(/there is no such model/);
  });
});

describe("two at once", () => {
  const script = `
    import { fetchModel } from ${JSON.stringify(fileURLToPath(new URL("../../../src/models/hub/index.ts", import.meta.url)))};
    const said = [];
    const { folder, fetched } = await fetchModel(${JSON.stringify(NAME)}, { say: (text) => said.push(text) });
    console.log(JSON.stringify({ folder, fetched, said }));`;

  it("fetch once: the second waits", async () => {
    const { hub, variables, fetch, place } = await hubWithModel();
    // The weights come when all three have asked what there is.
    const asked = () => hub.seen.filter(({ path }) => path.includes("/tree/")).length;
    const weights = modelFiles()["model.safetensors"]!;
    hub.fault = (request, response, { host }) => {
      if (host !== "store") return false;
      const clock = setInterval(() => {
        if (asked() < 3) return;
        clearInterval(clock);
        setTimeout(() => sendFile(request, response, weights), 300);
      }, 20);
      return true;
    };
    const child = spawn(
      process.execPath,
      ["--import", "tsx", "--input-type=module", "-e", script],
      {
        env: { ...process.env, HF_HUB_OFFLINE: "", ...variables },
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    let text = "";
    child.stdout.on("data", (piece: Buffer) => {
      text += piece.toString();
    });
    const said: string[] = [];
    const options = {
      limits: { silence: 30_000 },
      say: (sentence: string) => void said.push(sentence),
    };
    const [own, again] = await Promise.all([fetch(options), fetch(options), once(child, "close")]);
    const other = JSON.parse(text) as { folder: string; fetched: number; said: string[] };
    expect(
      [...said, ...other.said].filter((one) => /another process is fetching/.test(one)),
    ).toHaveLength(2);
    expect([own!.folder, again!.folder]).toEqual([other.folder, other.folder]);
    const fetched = [own!.fetched, again!.fetched, other.fetched].filter((bytes) => bytes > 0);
    expect(fetched).toHaveLength(1);
    expect(hub.seen.filter(({ host }) => host === "store")).toHaveLength(1);
    expect(filesBelow(place).filter((name) => /incomplete|lock/.test(name))).toEqual([]);
    expect(existsSync(realpathSync(join(own!.folder, "model.safetensors")))).toBe(true);
  });
});
