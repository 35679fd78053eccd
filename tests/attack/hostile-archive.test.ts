/**
 * @file Archives of somebody who means harm, the way a user meets them: as a world's `data`, and through
 * `data get`. Bombs, paths that lead out, links, devices, lies about sizes, files that overlap, archives that
 * are cut off: each ends in seconds with a sentence, in little memory, and writes nothing anywhere else.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { deflateRawSync, gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { main } from "../../src/cli/main.ts";
import { crc32 } from "../../src/environments/archive/crc32.ts";
import { zipOf } from "../environments/zip-writer.ts";
import { temporaryFolder } from "../rollout/support.ts";

const folder = temporaryFolder();
const hasXz = spawnSync("xz", ["--version"]).status === 0;
const GAME = "json/train/pick_and_place_simple-A-None-B-1/trial_1/game.tw-pddl";

/** A header of a tar, and what follows it. `size`: what it says of itself. */
function tarPart(
  path: string,
  text = "",
  { size = text.length, kind = "0", to = "" } = {},
): Buffer {
  const header = Buffer.alloc(512);
  header.write(path, 0);
  header.write("0000644", 100);
  header.write(size.toString(8).padStart(11, "0"), 124);
  header.write(" ".repeat(8), 148);
  header.write(kind, 156);
  header.write(to, 157);
  header.write("ustar\u000000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return Buffer.concat([
    header,
    Buffer.from(text.padEnd(Math.ceil(text.length / 512) * 512, "\0")),
  ]);
}
const END = Buffer.alloc(1024);
const tar = (...parts: Buffer[]) => Buffer.concat([...parts, END]);

/** Gigabytes of nothing: packed pieces behind each other are one packed whole. */
const zeros = gzipSync(Buffer.alloc(50_000_000), { level: 9 });
const nothing = (times: number) => Array.from({ length: times }, () => zeros);

/** Many entries that are all the same bytes of the file. */
function overlapping(count: number): Buffer {
  const bytes = Buffer.alloc(15_000_000);
  const packed = deflateRawSync(bytes, { level: 9 });
  const common = Buffer.alloc(26);
  common.writeUInt16LE(20, 0);
  common.writeUInt16LE(8, 4);
  common.writeUInt32LE(crc32(bytes), 10);
  common.writeUInt32LE(packed.length, 14);
  common.writeUInt32LE(bytes.length, 18);
  const local = Buffer.concat([Buffer.from([0x50, 0x4b, 3, 4]), common, packed]);
  const entries = Array.from({ length: count }, (_, i) => {
    const name = Buffer.from(GAME.replace("trial_1", `trial_${i}`));
    const own = Buffer.from(common);
    own.writeUInt16LE(name.length, 22);
    return Buffer.concat([Buffer.from([0x50, 0x4b, 1, 2, 20, 3]), own, Buffer.alloc(14), name]);
  });
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, directory, end]);
}

const BOMB_XZ = () =>
  spawnSync("bash", ["-c", "head -c 600000000 /dev/zero | xz -0 -c"], { maxBuffer: 1e9 }).stdout;

const ARCHIVES: Readonly<Record<string, () => Buffer>> = {
  "bomb.tar.gz": () =>
    Buffer.concat([gzipSync(tarPart("other", "", { size: 8e9 })), ...nothing(46)]),
  "game-bomb.tar.gz": () =>
    Buffer.concat([gzipSync(tarPart(GAME, "", { size: 3e9 })), ...nothing(60)]),
  "cut.tar.gz": () => gzipSync(tar(tarPart(GAME, "{}"))).subarray(0, 40),
  "noise.tar.gz": () => Buffer.from("not gzip at all".repeat(50)),
  "claims.tar": () => tar(tarPart(GAME, "x", { size: 8 ** 11 - 1 })),
  "cut.tar": () => tarPart(GAME, "x".repeat(2000)).subarray(0, 700),
  "empty.tar": () => Buffer.alloc(0),
  "link.tar": () => tar(tarPart(GAME, "", { kind: "2", to: "/etc/passwd" })),
  "hard-link.tar": () => tar(tarPart(GAME, "", { kind: "1", to: "../../etc/passwd" })),
  "device.tar": () => tar(tarPart(GAME, "", { kind: "3" })),
  "out.tar": () => tar(tarPart("../../../out/train/a/t/game.tw-pddl", "x")),
  "long-name.tar": () => tar(tarPart("x", "", { kind: "L", size: 8e9 })),
  "bomb.zip": () => zipOf({ [GAME]: "\0".repeat(40_000_000) }),
  "liar.zip": () => zipOf({ [GAME]: "\0".repeat(40_000_000) }, { claimedSize: 10 }),
  "overlapping.zip": () => overlapping(3000),
  "out.zip": () => zipOf({ "../../out/train/a/t/game.tw-pddl": "x" }),
  "link.zip": () => zipOf({ [GAME]: "/etc/passwd" }, { mode: 0o120777 }),
  "cut.zip": () => zipOf({ [GAME]: "x".repeat(1000) }).subarray(0, 100),
  "empty.zip": () => Buffer.alloc(0),
  ...(hasXz && {
    "bomb.tar.xz": BOMB_XZ,
    "cut.tar.xz": () => BOMB_XZ().subarray(0, 400),
  }),
};

let server: Server;
let address: string;
beforeAll(async () => {
  for (const [name, make] of Object.entries(ARCHIVES)) writeFileSync(join(folder, name), make());
  server = createServer((request, response) => {
    response.setHeader("etag", '"one"');
    response.end(ARCHIVES[request.url!.slice(1)]!());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}, 60_000);
afterAll(() => server.close());

let shown: string[];
beforeEach(() => {
  shown = [];
  const keep = (text: unknown = "") => void shown.push(String(text));
  vi.spyOn(console, "log").mockImplementation(keep);
  vi.spyOn(console, "error").mockImplementation(keep);
});
afterEach(() => vi.restoreAllMocks());

async function refusal(...words: string[]): Promise<string> {
  const [before, start] = [process.memoryUsage().rss, process.cpuUsage()];
  expect(await main(words), shown.join("\n")).toBe(1);
  // Work, not time: a machine that does other things makes no difference. Microseconds.
  const { user, system } = process.cpuUsage(start);
  expect(user + system).toBeLessThan(25e6);
  expect(process.memoryUsage().rss - before).toBeLessThan(700e6);
  expect(shown.join("\n")).not.toMatch(/^ {4}at /m);
  return shown.join("\n");
}

describe("as a world's data", () => {
  it.each(Object.keys(ARCHIVES))("%s is refused", { timeout: 60_000 }, async (name) => {
    const file = join(folder, name);
    expect(await refusal("env", "verify", "alfworld", `data=${file}`)).toContain(name);
    if (name.endsWith("bomb.tar.gz")) return;
    shown = [];
    expect(await refusal("env", "verify", "textcraft", `data=${file}`)).toContain(name);
    expect(existsSync(join(folder, "../out"))).toBe(false);
  });

  it("what unpacks to far more than it is, or shares its bytes, is told so", async () => {
    const verify = (name: string) =>
      refusal("env", "verify", "textcraft", `data=${join(folder, name)}`);
    expect(await verify("bomb.tar.gz")).toMatch(/unpacks to more than \d+ bytes/);
    expect(await verify("overlapping.zip")).toMatch(/files in it share their bytes/);
  }, 60_000);
});

describe("through data get", () => {
  const zips = Object.keys(ARCHIVES).filter((name) => name.endsWith(".zip"));
  it.each(zips)(
    "%s leaves nothing in the place of the data",
    async (name) => {
      const to = join(folder, `got-${name}`, "data");
      const said = await refusal(
        "data",
        "get",
        "alfworld",
        "--url",
        `${address}/${name}`,
        "--to",
        to,
      );
      expect(said).toMatch(/^openmanus-rl data: alfworld: /m);
      expect(existsSync(to)).toBe(false);
      expect(existsSync(`${to}.sha256.json`)).toBe(false);
      expect(readdirSync(folder)).not.toContain("out");
    },
    60_000,
  );
});
