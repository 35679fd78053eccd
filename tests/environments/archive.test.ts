/**
 * @file Archives: what tar, gzip, xz and zip made is read as it was; damage is an error.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { TASK_TYPES } from "../../src/environments/alfworld/files/tasks.ts";
import { DIFFICULTIES } from "../../src/environments/alfworld/household/difficulty.ts";
import { gameOfParameters } from "../../src/environments/alfworld/household/world.ts";
import { gameFileText } from "../../src/environments/alfworld/household/write.ts";
import { openLibrary } from "../../src/environments/alfworld/internals.ts";
import { ArchiveError } from "../../src/environments/archive/error.ts";
import { tarFiles } from "../../src/environments/archive/tar.ts";
import { unpackZip } from "../../src/environments/archive/unpack.ts";
import { decompressXz } from "../../src/environments/archive/xz.ts";
import { ZipFile } from "../../src/environments/archive/zip.ts";
import { EnvironmentError, seededRandom } from "../../src/environments/index.ts";
import { zipOf } from "./zip-writer.ts";

const folder = mkdtempSync(join(tmpdir(), "archive-"));
afterAll(() => rmSync(folder, { recursive: true }));
const has = (program: string): boolean => spawnSync(program, ["--version"]).status === 0;

const game = gameFileText(
  gameOfParameters({
    ...{ seed: 0, split: "train", index: 0, types: TASK_TYPES, difficulty: DIFFICULTIES.easy },
  }),
  ["look"],
);
const GAME_PATH = "json/train/pick_and_place_simple-A-None-B-1/trial_1/game.tw-pddl";

describe.skipIf(!has("xz"))("xz", () => {
  const random = seededRandom("xz");
  const noise = Buffer.from(Array.from({ length: 40_000 }, () => random.integer(256)));
  const words = ["alpha ", "beta ", "gamma ", "delta\n"];
  const prose = Buffer.from(Array.from({ length: 15_000 }, () => random.pick(words)).join(""));
  const inputs = {
    empty: Buffer.alloc(0),
    noise,
    prose,
    mixed: Buffer.concat([prose, noise, prose, Buffer.alloc(100_000), noise]),
  };
  const pack = (bytes: Buffer, ...options: string[]): Buffer =>
    spawnSync("xz", ["-zc", ...options], { input: bytes, maxBuffer: 1e9 }).stdout;
  const unpack = (bytes: Uint8Array): Buffer => Buffer.concat([...decompressXz(bytes)]);

  it.each(Object.entries(inputs))("gives back %s, however it was packed", (_, bytes) => {
    for (const options of [
      ...[["-0"], ["-6"], ["--check=none"], ["--check=sha256"]],
      ...[["--block-size=50000"], ["--lzma2=lc=0,lp=2,pb=4"], ["--lzma2=dict=4KiB,lc=4,pb=0"]],
    ]) {
      expect([options, unpack(pack(bytes, ...options)).equals(bytes)]).toEqual([options, true]);
    }
    const twice = Buffer.concat([pack(bytes), Buffer.alloc(8), pack(bytes)]);
    expect(unpack(twice).equals(Buffer.concat([bytes, bytes]))).toBe(true);
  });

  it("refuses what is cut off or damaged, or gives other bytes, but nothing worse", () => {
    const whole = pack(inputs.mixed);
    for (let end = 0; end < whole.length; end += 7919)
      expect(() => unpack(whole.subarray(0, end))).toThrow(ArchiveError);
    for (let i = 0; i < 40; i++) {
      const damaged = Buffer.from(whole);
      damaged[random.integer(damaged.length)]! ^= 1 << random.integer(8);
      try {
        unpack(damaged);
      } catch (error) {
        expect(error).toBeInstanceOf(ArchiveError);
      }
    }
  });
});

describe.skipIf(!has("tar"))("tar", () => {
  it("is read, plain, gzipped or with xz, with long names", async () => {
    const root = join(folder, "tar");
    const long = `${"long/".repeat(40)}name`;
    for (const [path, text] of [
      [GAME_PATH, game],
      [long, "far away"],
    ] as const) {
      mkdirSync(join(root, path, ".."), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    for (const format of ["gnu", "pax", "ustar"]) {
      const file = join(folder, `${format}.tar`);
      const tar = spawnSync("tar", ["-cf", file, `--format=${format}`, "-C", root, "."]);
      expect(String(tar.stderr)).toBe("");
      const files = new Map<string, string>();
      for await (const { path, bytes } of tarFiles([readFileSync(file)], () => true, 1e6))
        files.set(path, Buffer.from(bytes).toString());
      expect(files.get(`./${long}`)).toBe("far away");
      expect(files.get(`./${GAME_PATH}`)).toBe(game);
      writeFileSync(`${file}.gz`, gzipSync(readFileSync(file)));
      const packed = [file, `${file}.gz`];
      if (has("xz")) {
        spawnSync("xz", ["-k", "-f", file]);
        packed.push(`${file}.xz`);
      }
      for (const path of packed) {
        const library = await openLibrary(path);
        expect(library.entries).toEqual([
          { id: GAME_PATH.slice(5), split: "train", type: "pick_and_place_simple", plan: 1 },
        ]);
        expect(library.read(GAME_PATH.slice(5)).walkthrough).toEqual(["look"]);
      }
    }
  });

  it("that is cut off, damaged or something else is refused", async () => {
    const whole = readFileSync(join(folder, "gnu.tar"));
    const cases: [string, Uint8Array][] = [
      ["cut.tar", whole.subarray(0, 700)],
      ["text.tar", Buffer.from("not a tar at all, but a text".repeat(100))],
      ["empty.tar", Buffer.alloc(0)],
      ["damaged.tar", Buffer.from(whole).fill(120, 100, 130)],
      ["text.tar.gz", Buffer.from("not gzip")],
      ["text.tar.xz", Buffer.from("not xz, but long enough to be something else")],
    ];
    for (const [name, bytes] of cases) {
      writeFileSync(join(folder, name), bytes);
      await expect(openLibrary(join(folder, name))).rejects.toThrow(EnvironmentError);
    }
  });
});

describe("zip", () => {
  const write = (name: string, bytes: Uint8Array): string => {
    writeFileSync(join(folder, name), bytes);
    return join(folder, name);
  };
  const limits = { files: 100, bytesPerFile: 1e6, bytes: 1e7 };

  it("is read, stored or deflated, and its games are played", async () => {
    for (const stored of [true, false]) {
      const path = write(
        "games.zip",
        zipOf({ [GAME_PATH]: game, "json/notes.txt": "x" }, { stored }),
      );
      const library = await openLibrary(path);
      expect(library.entries.map(({ id }) => id)).toEqual([GAME_PATH.slice(5)]);
      expect(library.read(GAME_PATH.slice(5)).solvable).toBe(true);
      const target = join(folder, `unpacked-${stored}`);
      expect(unpackZip(path, target, limits)).toBe(2);
      expect(readFileSync(join(target, GAME_PATH), "utf8")).toBe(game);
    }
  });

  it.each(["../out", "a/../../out", "/etc/out", "a\\..\\..\\out", "C:/out", "a//b", "./a"])(
    "with the path %s is not unpacked, nor anything before it",
    (path) => {
      const file = write("evil.zip", zipOf({ "good.txt": "x", [path]: "evil" }));
      const target = join(folder, "evil");
      expect(() => unpackZip(file, target, limits)).toThrow(/leads out of its folder/);
      expect(() => readFileSync(join(target, "good.txt"))).toThrow(/ENOENT/);
    },
  );

  it("with a link, a bomb, or a lie about a size is refused", () => {
    const link = write("link.zip", zipOf({ link: "/etc/passwd" }, { mode: 0o120777 }));
    expect(() => unpackZip(link, join(folder, "link"), limits)).toThrow(/is a link/);
    const bomb = write("bomb.zip", zipOf({ zeros: "\0".repeat(3_000_000) }));
    expect(() => unpackZip(bomb, join(folder, "bomb"), limits)).toThrow(/at most 1000000 are read/);
    const total = { ...limits, bytes: 100 };
    expect(() => unpackZip(bomb, join(folder, "bomb2"), total)).toThrow(/at most 100 are expected/);
    const liar = write("liar.zip", zipOf({ zeros: "\0".repeat(3_000_000) }, { claimedSize: 10 }));
    expect(() => unpackZip(liar, join(folder, "liar"), limits)).toThrow(ArchiveError);
    const many = write(
      "many.zip",
      zipOf(Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`f${i}`, ""]))),
    );
    expect(() => unpackZip(many, join(folder, "many"), limits)).toThrow(/101 files; at most 100/);
  });

  it("that is cut off or damaged is refused, or gives its files", () => {
    const whole = zipOf({ "a.txt": "hello ".repeat(100), "b.txt": "b" });
    const random = seededRandom("zip");
    const read = (bytes: Uint8Array): void => {
      const zip = new ZipFile(write("damaged.zip", bytes));
      for (const entry of zip.entries) zip.read(entry, 1e6);
      zip.close();
    };
    read(whole);
    for (let end = 0; end < whole.length; end += 7)
      expect(() => read(whole.subarray(0, end))).toThrow(ArchiveError);
    for (let i = 0; i < 300; i++) {
      const damaged = Buffer.from(whole);
      damaged[random.integer(damaged.length)] = random.integer(256);
      try {
        read(damaged);
      } catch (error) {
        expect(error).toBeInstanceOf(ArchiveError);
      }
    }
  });
});
