/**
 * @file Python's huggingface_hub and ours, at the same hub (the one of our tests, on loopback) and in the same
 * cache: each finds what the other fetched, and takes what the other pushed.
 */
import { cpSync, existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { type FetchedModel, fetchModel, pushModel } from "../../../src/models/index.ts";
import { type FakeHub, fakeHub } from "../../../tests/models/hub/fake-hub.ts";
import type { Finding, InteropCheck } from "../check.ts";
import { newModelFolder } from "../models.ts";
import type { Peers } from "../peers.ts";

const NAME = "tiny-org/tiny-model";
const TOKEN = "hf_interop";

interface Fetched {
  readonly folder: string;
  readonly files: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
}

interface Card {
  readonly base: string | null;
  readonly library: string | null;
}

function filesOf(folder: string): Record<string, Buffer> {
  const names = readdirSync(folder);
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name))]));
}

/** Blobs by name and size, refs and links by what they say: all by which two caches can differ. */
function layoutOf(cache: string): string[] {
  const folder = join(cache, `models--${NAME.replace("/", "--")}`);
  const below = (name: string) =>
    existsSync(join(folder, name))
      ? readdirSync(join(folder, name), { recursive: true, withFileTypes: true })
      : [];
  return ["blobs", "refs", "snapshots"].flatMap((part) =>
    below(part)
      .filter((entry) => !entry.isDirectory())
      .map((entry) => {
        const place = join(entry.parentPath, entry.name);
        const what = entry.isSymbolicLink() ? readlinkSync(place) : readFileSync(place).length;
        return `${place.slice(folder.length + 1)} ${what}`;
      })
      .sort(),
  );
}

function compared(what: string, ours: unknown, theirs: unknown, detail: string): Finding {
  const [a, b] = [JSON.stringify(ours, null, 1), JSON.stringify(theirs, null, 1)];
  return { what, detail, problem: a === b ? undefined : `ours:\n${a}\ntheirs:\n${b}` };
}

/** How often files were asked for since: a look at their headers does not count. */
function downloads(hub: FakeHub, since: number): number {
  return hub.seen
    .slice(since)
    .filter(
      ({ method, path, host }) =>
        method === "GET" && (host === "store" || path.includes("/resolve/")),
    ).length;
}

async function sharedCaches(peers: Peers, folder: string, hub: FakeHub): Promise<Finding[]> {
  const [theirs, ours] = [join(folder, "theirs"), join(folder, "ours")];
  const common = { endpoint: hub.url, name: NAME, token: null };
  const ask = (more: object) =>
    peers.ask<Fetched>("hub_fetches.py", folder, { ...common, action: "fetch", ...more });
  const own = (cache: string, offline: "0" | "1"): Promise<FetchedModel> =>
    fetchModel(NAME, {
      variables: {
        HF_ENDPOINT: hub.url,
        HF_HUB_CACHE: cache,
        HF_HUB_OFFLINE: offline,
        HF_HOME: folder,
      },
    });
  const first = await ask({ cache: theirs, offline: false });
  const again = await own(theirs, "1");
  const fetched = await own(ours, "0");
  const found = await ask({ cache: ours, offline: true });
  const before = hub.seen.length;
  // Both caches with both clients once more, with the hub there: nothing is to be fetched.
  const online = [await ask({ cache: ours, offline: false }), await own(theirs, "0")];
  const count = Object.keys(first.files).length;
  return [
    compared("ours finds Python's snapshot, offline", again.folder, first.folder, `${count} files`),
    compared("Python finds ours, offline", fetched.folder, found.folder, `${count} files`),
    compared(
      "both caches are the same",
      layoutOf(ours),
      layoutOf(theirs),
      `${layoutOf(ours).length} entries`,
    ),
    compared("the same bytes", found.files, first.files, `${count} sums`),
    compared("Python's look at our cache: no warning", found.warnings, [], ""),
    {
      what: "with the hub there, neither fetches anew",
      detail: `${online.length} calls`,
      problem:
        downloads(hub, before) === 0 ? undefined : `${downloads(hub, before)} files were fetched`,
    },
  ];
}

async function pushes(
  peers: Peers,
  folder: string,
  model: string,
  hub: FakeHub,
): Promise<Finding[]> {
  const variables = { HF_ENDPOINT: hub.url, HF_HOME: join(folder, "home"), HF_TOKEN: TOKEN };
  const card = "---\nbase_model: tiny-org/tiny-model\nlibrary_name: transformers\n---\n\n# ours\n";
  hub.uploads.partSize = 50_000;
  const pushed = await pushModel(model, "me/ours", { variables, texts: { "README.md": card } });
  const request = { endpoint: hub.url, token: TOKEN, cache: join(folder, "third") };
  const theirs = await peers.ask<Fetched & { card: Card }>("hub_fetches.py", folder, {
    ...{ ...request, action: "fetch", offline: false, name: "me/ours", readsCard: true },
  });
  const copy = join(folder, "copy");
  cpSync(model, copy, { recursive: true });
  const sent = await peers.ask<{ commit: string }>("hub_fetches.py", folder, {
    ...{ ...request, action: "push", offline: false, name: "me/theirs", folder: copy },
  });
  const back = await fetchModel("me/theirs", { variables });
  const bytes = (place: string) =>
    Object.entries(filesOf(place)).map(
      ([name, content]) => `${name} ${content.toString("base64")}`,
    );
  return [
    compared(
      "Python fetches what ours pushed, in parts",
      Object.keys(theirs.files).sort(),
      [...Object.keys(filesOf(model)), ".gitattributes", "README.md"].sort(),
      `commit ${pushed.model.slice(-40, -32)}`,
    ),
    compared(
      "Python reads the card",
      theirs.card,
      { base: "tiny-org/tiny-model", library: "transformers" },
      "",
    ),
    compared(
      "ours fetches what Python pushed",
      back.commit,
      sent.commit,
      `commit ${sent.commit.slice(0, 8)}`,
    ),
    compared("the same bytes came back", bytes(back.folder), bytes(model), ""),
  ];
}

const check: InteropCheck = {
  name: "hub",
  async run(peers, folder): Promise<Finding[]> {
    const hub = await fakeHub();
    try {
      const model = newModelFolder(folder, "qwen3");
      hub.add(NAME, filesOf(model));
      hub.token = TOKEN;
      return [
        ...(await sharedCaches(peers, folder, hub)),
        ...(await pushes(peers, folder, model, hub)),
      ];
    } finally {
      await hub.close();
    }
  },
};

export default check;
