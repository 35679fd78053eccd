/**
 * @file `data get alfworld`, against a server of our own: whole, broken off, silent, lying.
 */
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { main } from "../../../src/cli/main.ts";
import { TASK_TYPES } from "../../../src/environments/alfworld/files/tasks.ts";
import { DIFFICULTIES } from "../../../src/environments/alfworld/household/difficulty.ts";
import { gameOfParameters } from "../../../src/environments/alfworld/household/world.ts";
import { gameFileText } from "../../../src/environments/alfworld/household/write.ts";
import { download } from "../../../src/environments/data/download.ts";
import { DATASETS } from "../../../src/environments/index.ts";
import { zipOf } from "../zip-writer.ts";

const game = (index: number): string =>
  gameFileText(
    gameOfParameters({
      ...{ seed: 0, split: "train", index, types: TASK_TYPES, difficulty: DIFFICULTIES.easy },
    }),
    ["look"],
  );
const archive = zipOf({
  "json_2.1.1/train/pick_and_place_simple-A-None-B-1/trial_1/game.tw-pddl": game(1),
  "json_2.1.1/valid_seen/look_at_obj_in_light-A-None-B-1/trial_1/game.tw-pddl": game(2),
});

type Handler = (request: IncomingMessage, response: ServerResponse, count: number) => void;

let folder: string;
let server: Server;
let url: string;
let handler: Handler;
let ranges: (string | undefined)[];

/** Serves bytes with an ETag, and parts of them. */
const serving =
  (bytes: Buffer): Handler =>
  (request, response) => {
    const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
    const headers = { etag: '"one"', "content-length": bytes.length - start };
    if (start === 0) response.writeHead(200, headers);
    else {
      const range = `bytes ${start}-${bytes.length - 1}/${bytes.length}`;
      response.writeHead(206, { ...headers, "content-range": range });
    }
    response.end(bytes.subarray(start));
  };

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "data-"));
  ranges = [];
  handler = serving(archive);
  let count = 0;
  server = createServer((request, response) => {
    ranges.push(request.headers.range);
    handler(request, response, ++count);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/games.zip`;
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

const get = (): Promise<string> =>
  DATASETS.alfworld!.get({ url, folder: join(folder, "alfworld") });

describe("data get alfworld", () => {
  it("downloads, verifies, unpacks, and remembers what it got", async () => {
    expect(await get()).toMatch(/^2 games \(train 1, valid_seen 1\) are in .*sha256 [0-9a-f]{64}/);
    expect(readdirSync(folder)).toEqual(["alfworld", "alfworld.sha256.json"]);
    const record = JSON.parse(readFileSync(join(folder, "alfworld/download.json"), "utf8"));
    expect(record).toMatchObject({ url, bytes: archive.length, games: 2 });
    expect(await get()).toMatch(/already has them/);
    expect(ranges).toHaveLength(1);
  });

  it("takes no other archive the next time, unless told so", async () => {
    const to = join(folder, "alfworld");
    const errors = vi.spyOn(console, "error").mockImplementation(() => {});
    vi.spyOn(console, "log").mockImplementation(() => {});
    const command = (...more: string[]) => {
      errors.mockClear();
      return main(["data", "get", "alfworld", "--to", to, "--url", url, ...more]);
    };
    const said = () => errors.mock.calls.join("\n");
    const sumOf = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
    try {
      expect(await command("--sha256", "abc")).toBe(2);
      expect(await command("--sha256", sumOf(Buffer.from("x")))).toBe(1);
      expect(said()).toContain(`${sumOf(archive)}, expected ${sumOf(Buffer.from("x"))}`);
      expect(existsSync(to)).toBe(false);
      expect(await command("--sha256", sumOf(archive).toUpperCase())).toBe(0);

      // The data is gone, and the server has something else now.
      rmSync(to, { recursive: true });
      const other = zipOf({
        "json_2.1.1/train/pick_and_place_simple-A-None-B-1/t/game.tw-pddl": game(3),
      });
      handler = serving(other);
      expect(await command()).toBe(1);
      expect(said()).toMatch(/has the sum .* but json_2.1.3_tw-pddl.zip had .*--accept-changed/s);
      expect(said()).toContain(sumOf(other));
      expect(said()).toContain(sumOf(archive));
      expect(existsSync(to)).toBe(false);
      expect(await command("--accept-changed")).toBe(0);
      rmSync(to, { recursive: true });
      expect(await command()).toBe(0);
      rmSync(to, { recursive: true });
      handler = serving(archive);
      expect(await command()).toBe(1);
      expect(await command("--sha256", `json_2.1.3_tw-pddl.zip=${sumOf(archive)}`)).toBe(0);
    } finally {
      vi.restoreAllMocks();
    }
  });

  it("does not remember an archive that holds no games", async () => {
    handler = serving(zipOf({ "readme.txt": "nothing" }));
    await expect(get()).rejects.toThrow();
    handler = serving(archive);
    expect(await get()).toMatch(/^2 games/);
  });

  it("goes on where the connection broke", async () => {
    handler = (request, response, count) => {
      if (count > 1) return serving(archive)(request, response, count);
      response.writeHead(200, { etag: '"one"', "content-length": archive.length });
      response.write(archive.subarray(0, 1000));
      // Breaks when those bytes are on the disk: earlier, there would be nothing to go on from.
      const part = join(folder, "alfworld.download/games.zip.part");
      const timer = setInterval(() => {
        if ((statSync(part, { throwIfNoEntry: false })?.size ?? 0) < 1000) return;
        clearInterval(timer);
        response.destroy();
      }, 5);
    };
    expect(await get()).toMatch(/^2 games/);
    expect(ranges).toEqual([undefined, "bytes=1000-"]);
  });

  it("begins again where the server cannot go on, or has another file now", async () => {
    for (const other of ["ignores ranges", "refuses the range"]) {
      handler = (request, response, count) => {
        if (count % 10 === 1) {
          response.writeHead(200, { etag: '"one"', "content-length": archive.length });
          response.write(archive.subarray(0, 1000), () => response.destroy());
        } else if (request.headers.range && other === "refuses the range") {
          response.writeHead(416).end();
        } else {
          response.writeHead(200, { "content-length": archive.length }).end(archive);
        }
      };
      expect(await get()).toMatch(/^2 games/);
      rmSync(join(folder, "alfworld"), { recursive: true });
    }
  });

  it("says so when the server has nothing, dies, is silent or lies", async () => {
    const file = join(folder, "file.zip");
    const attempt = (attempts = 2) => download({ url, file, attempts, silence: 200, largest: 1e6 });
    handler = (_, response) => void response.writeHead(404).end();
    await expect(attempt()).rejects.toThrow(/answered 404.*--url/);
    handler = (_, response) => void response.writeHead(503).end();
    await expect(attempt()).rejects.toThrow(/answered 503.*Run the command again/);
    handler = (request) => void request.socket.destroy();
    await expect(attempt()).rejects.toThrow(/could not be downloaded/);
    handler = () => {};
    await expect(attempt()).rejects.toThrow(/silent for 0.2 s/);
    handler = (_, response) => void response.writeHead(200, { "content-length": 2e6 }).end("x");
    await expect(attempt()).rejects.toThrow(/at most 1000000 are expected/);
    handler = (_, response) => void response.writeHead(200).end(Buffer.alloc(1_100_000));
    await expect(attempt()).rejects.toThrow(/sends more than 1000000/);
    expect(existsSync(file)).toBe(false);
  });

  it("follows redirects, but not for ever and not to anything", async () => {
    const file = join(folder, "file.zip");
    const attempt = () => download({ url, file, attempts: 1 });
    handler = (request, response, count) =>
      count < 4
        ? void response.writeHead(302, { location: `/${count}` }).end()
        : serving(archive)(request, response, count);
    expect((await attempt()).bytes).toBe(archive.length);
    handler = (_, response) => void response.writeHead(302, { location: "/again" }).end();
    await expect(attempt()).rejects.toThrow(/redirects more than 5 times/);
    handler = (_, response) =>
      void response.writeHead(302, { location: "file:///etc/hosts" }).end();
    await expect(attempt()).rejects.toThrow(/redirects to file:.*not followed/);
    await expect(download({ url: "games", file })).rejects.toThrow(/"games" is no address/);
  });

  it("gives a file that drips only so much time", async () => {
    handler = (_, response) => {
      response.writeHead(200);
      const clock = setInterval(() => response.write("x"), 20);
      response.once("close", () => clearInterval(clock));
    };
    const slow = {
      url,
      file: join(folder, "file.zip"),
      attempts: 1,
      silence: 10_000,
      seconds: 0.5,
    };
    await expect(download(slow)).rejects.toThrow(/not complete within 0.5 s/);
  });

  it("refuses an archive without games, with broken ones, or that leads out of its folder", async () => {
    for (const [bytes, message] of [
      [Buffer.from("<html>not a zip</html>"), /no zip/],
      [zipOf({ "readme.txt": "hello" }), /holds no games/],
      [zipOf({ "train/a/b/game.tw-pddl": "{" }), /cannot be used/],
      [zipOf({ "../../game.tw-pddl": game(1) }), /leads out of its folder/],
    ] as const) {
      handler = serving(bytes);
      await expect(get()).rejects.toThrow(message);
      expect(existsSync(join(folder, "alfworld"))).toBe(false);
    }
  });

  it("leaves a folder with something else alone", async () => {
    mkdirSync(join(folder, "alfworld"));
    writeFileSync(join(folder, "alfworld/thesis.txt"), "years of work");
    await expect(get()).rejects.toThrow(/holds something else/);
    expect(ranges).toHaveLength(0);
  });

  it("is a command", async () => {
    const log = vi.spyOn(console, "log").mockImplementation(() => {});
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    try {
      expect(await main(["data", "list"])).toBe(0);
      expect(log.mock.calls.flat().join("\n")).toMatch(/json_2\.1\.3_tw-pddl\.zip/);
      expect(await main(["data", "get", "alfworld", "--to", join(folder, "x"), "--url", url])).toBe(
        0,
      );
      expect(log.mock.lastCall?.[0]).toMatch(/^2 games/);
      expect(await main(["data", "get", "nothing"])).toBe(2);
      expect(await main(["data", "get", "alfworld", "--url", "ftp://x"])).toBe(2);
      handler = (_, response) => void response.writeHead(404).end();
      expect(await main(["data", "get", "alfworld", "--to", join(folder, "y"), "--url", url])).toBe(
        1,
      );
      expect(error.mock.lastCall?.[0]).toMatch(/answered 404/);
    } finally {
      log.mockRestore();
      error.mockRestore();
    }
  });
});
