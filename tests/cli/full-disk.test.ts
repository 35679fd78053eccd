/**
 * @file Commands whose disk is full where they write what they were asked for: a sentence that names the place and is true,
 * nothing that looks like the result, and with room the same command makes it (or says what is in its way).
 */
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { main } from "../../src/cli/main.ts";
import { readTrajectories } from "../../src/rollout/index.ts";
import { newModelFolder, temporaryFolder } from "../rollout/support.ts";
import { areDisksMissing, smallDisk } from "../support/disk.ts";
import { atWrite } from "../support/writes.ts";

const isMissing = areDisksMissing();
const parent = temporaryFolder();
const model = newModelFolder(parent);
const PLAY = ["household", "games=6", "difficulty=easy", "--expert", "--tasks", "3"];
const played = join(parent, "played");

let errors: string[];
beforeEach(() => {
  errors = [];
  vi.spyOn(console, "log").mockImplementation(() => {});
  vi.spyOn(console, "error").mockImplementation((text: string) => void errors.push(text));
});
afterEach(() => vi.restoreAllMocks());

const said = () => errors.join("\n");

describe.skipIf(isMissing)("a full disk under what a command makes", { timeout: 120_000 }, () => {
  const ways: readonly [form: string, name: string][] = [
    ["messages", "a.json"],
    ["chat", "b.jsonl"],
    ["parquet", "c.parquet"],
  ];
  it.each(ways)("trajectories export --to %s", async (form, name) => {
    if (!existsSync(played)) expect(await main(["rollout", ...PLAY, "--out", played])).toBe(0);
    const disk = smallDisk(1);
    const file = join(disk.folder, name);
    const words = ["trajectories", "export", played, "--to", form, "--output", file];
    disk.fill();
    expect(await main(words)).toBe(1);
    expect(said()).toContain(`${name}: there is no space left on the disk`);
    expect(readdirSync(disk.folder)).toEqual([".ballast"]);
    disk.free();
    expect(await main(words)).toBe(0);
    expect(readdirSync(disk.folder)).toEqual([name]);
  });

  it("rollout --out: what was played before is whole, and what to do is true", async () => {
    const disk = smallDisk(4);
    const out = join(disk.folder, "out");
    const words = ["rollout", ...PLAY, "--concurrency", "1", "--out", out];
    // The first episode is written, and no other.
    const moment = atWrite(/000000\.jsonl/, () => {}, disk.fill);
    expect(await main(words).finally(moment.end)).toBe(1);
    expect(said()).toMatch(/000000\.jsonl: cannot be written.*remove this folder, or choose/);
    expect([...readTrajectories(out)]).toHaveLength(1);
    disk.free();
    expect(await main(words)).toBe(2);
    expect(said()).toMatch(/has trajectories already; choose another folder, or remove it/);
    const other = join(disk.folder, "other");
    const late = atWrite(/rollout\.json/, disk.fill, () => {});
    expect(await main([...words.slice(0, -1), other]).finally(late.end)).toBe(1);
    expect(existsSync(join(other, "rollout.json"))).toBe(false);
    expect([...readTrajectories(other)]).toHaveLength(3);
  });

  it("eval --out: all episodes or none, and never those of two evaluations", async () => {
    const disk = smallDisk(4);
    const out = join(disk.folder, "out");
    const form = ["env.env_name=household", "env.options.games=6", "env.max_steps=2"];
    const words = ["eval", model, ...form, "data.max_response_length=4", "--tasks", "3"];
    const moment = atWrite(/000000\.jsonl/, () => {}, disk.fill);
    expect(await main([...words, "--out", out]).finally(moment.end)).toBe(1);
    expect(said()).toMatch(/000000\.jsonl: there is no space left on the disk/);
    expect([...readTrajectories(out)]).toEqual([]);
    disk.free();
    expect(await main([...words, "--out", out]), said()).toBe(0);
    expect([...readTrajectories(out)]).toHaveLength(3);
    expect(await main([...words, "--out", out])).toBe(2);
    expect(said()).toMatch(/has trajectories already; choose another folder, or remove it/);
    expect([...readTrajectories(out)]).toHaveLength(3);
  });

  it("model init, export and import", async () => {
    const disk = smallDisk(4);
    const [folder, file, imported] = ["model", "model.gguf", "imported"].map((name) =>
      join(disk.folder, name),
    );
    const household = ["env.env_name=household", "env.options.games=2", "--tasks", "2"];
    for (const [words, pattern] of [
      [["init", folder!, "--preset", "tiny", ...household], /tokenizer\.json/],
      [["init", folder!, "--preset", "tiny", ...household], /model\.safetensors/],
      [["export", folder!, file!], /model\.gguf/],
      [["import", file!, imported!], /imported.*model\.safetensors/],
    ] as const) {
      const before = readdirSync(disk.folder);
      const moment = atWrite(pattern, disk.fill, () => {});
      expect(await main(["model", ...words]).finally(moment.end), words.join(" ")).toBe(1);
      expect(moment.count(), words.join(" ")).toBe(1);
      expect(said()).toMatch(/ENOSPC/);
      disk.free();
      expect(readdirSync(disk.folder), words.join(" ")).toEqual(before);
      if (String(pattern).includes("tokenizer")) continue;
      expect(await main(["model", ...words]), said()).toBe(0);
    }
  });

  it("init", async () => {
    const disk = smallDisk(1);
    mkdirSync(join(disk.folder, "projects"));
    disk.fill();
    expect(await main(["init", "desk", "--folder", join(disk.folder, "projects")])).toBe(1);
    expect(said()).toMatch(/desk cannot be made \(ENOSPC/);
    expect(readdirSync(join(disk.folder, "projects"))).toEqual([]);
  });
});
