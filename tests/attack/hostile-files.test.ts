/**
 * @file Files that are not what a command expects: another kind, cut off, packed a thousandfold, in places
 * where nothing can be written. Each ends in a moment with a sentence that names the file, and no stack.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { main } from "../../src/cli/main.ts";
import { readTrajectories } from "../../src/rollout/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { LIGHTS, tinySettings, warmTinyFolder } from "../training/support/runs.ts";

const folder = temporaryFolder();
const at = (name: string) => join(folder, name);
let warm: string;

/** Bytes that are nothing, the same ones every time. */
const noise = (length: number) =>
  Buffer.from(Array.from({ length }, (_, i) => (Math.imul(i + 1, 2654435761) >>> 13) & 255));
const CHAT =
  '{"messages":[{"role":"user","content":"It is red."},{"role":"assistant","content":"go"}]}\n';
const EPISODE = {
  ...{ id: "a", group: "g", format: "f", context: "steps", status: "won", seed: "1", won: true },
  ...{ reward: 1, score: 1, step: 0, lastObservation: "", task: { id: "t" } },
};
const turn = (changes: object) => ({
  ...{ promptIds: [1], messages: [], problems: [], reward: 0 },
  reply: { ids: [], logprobs: [], sampledLogprobs: [], text: "" },
  ...changes,
});
const line = (value: unknown) => `${JSON.stringify(value)}\n`;

const FILES: Readonly<Record<string, string | Buffer>> = {
  "noise.jsonl": noise(5000),
  "noise.jsonl.gz": noise(500),
  "noise.parquet": noise(5000),
  "footer.parquet": Buffer.concat([
    Buffer.from("PAR1"),
    noise(100),
    Buffer.from("\u0010\0\0\0PAR1"),
  ]),
  "empty.jsonl": "",
  "empty.jsonl.gz": "",
  "empty.parquet": "",
  "empty.json": "",
  "text.txt": "hello\n",
  "five.jsonl": "5\n",
  "null.jsonl": "null\n",
  "nulls.jsonl": '{"messages":[null]}\n',
  "roles.jsonl": '{"messages":[{"role":"constructor","content":"x"}]}\n',
  "object.json": '{"messages": 5}',
  "deep.jsonl": `${"[".repeat(200_000)}\n`,
  "cut.jsonl": '{"messages":[{"role":"us',
  "cut.jsonl.gz": gzipSync("x".repeat(100_000)).subarray(0, 50),
  "bomb.jsonl.gz": gzipSync(Buffer.alloc(400_000_000), { level: 9 }),
  "headless.jsonl": line({ id: "a", task: { id: "t" }, turns: [], promptIds: 0 }),
  "numberless.jsonl": line({ ...EPISODE, reward: undefined, turns: [], promptIds: 0 }),
  "ids.jsonl": line({ ...EPISODE, turns: [turn({ promptIds: ["x"] })] }),
  "messages.jsonl": line({ ...EPISODE, turns: [turn({ messages: [5] })] }),
  "problems.jsonl": line({ ...EPISODE, turns: [turn({ problems: [null] })] }),
  "circle.yaml": "env: &x\n  options: *x\n",
  "deeper.yaml": "env:\n  options: &o\n    a: *o\n",
  "bomb.yaml": [..."bcdefghi"].reduce(
    (text, name, i) =>
      `${text}${name}: &${name} [${Array(9).fill(`*${"abcdefgh"[i]}`).join(",")}]\n`,
    "a: &a [x,x,x,x,x,x,x,x,x]\n",
  ),
  "wide.yaml": `a: &a [${"x,".repeat(2000)}]\n${Array.from({ length: 90 }, (_, i) => `k${i}: *a\n`).join("")}`,
  "prototype.yaml": "__proto__:\n  x: 1\n",
  "noise.yaml": noise(300),
  "list.yaml": "- a\n",
};

beforeAll(async () => {
  warm = await warmTinyFolder(folder);
  for (const [name, bytes] of Object.entries(FILES)) writeFileSync(at(name), bytes);
  for (const name of ["nothing", "run", "run-text", "rollout/trajectories"])
    mkdirSync(at(name), { recursive: true });
  writeFileSync(at("nothing/readme.txt"), "x");
  writeFileSync(at("run/metrics.jsonl"), '{"step":1,"a":1}\nnonsense\n{"step":2}\n');
  writeFileSync(at("run-text/metrics.jsonl"), '{"step":1,"a":"x"}\n');
  writeFileSync(at("rollout/trajectories/000000.jsonl"), "nonsense\n");
}, 120_000);

let shown: string[];
beforeEach(() => {
  shown = [];
  const keep = (text: unknown = "") => void shown.push(String(text));
  vi.spyOn(console, "log").mockImplementation(keep);
  vi.spyOn(console, "error").mockImplementation(keep);
  for (const stream of [process.stdout, process.stderr])
    vi.spyOn(stream, "write").mockImplementation(() => true);
});
afterEach(() => vi.restoreAllMocks());

/** The command's message. What it does not catch makes the test fail with its stack. */
async function refusal(...words: string[]): Promise<string> {
  const [before, start] = [process.memoryUsage().rss, performance.now()];
  const code = await main(words);
  expect([1, 2], shown.join("\n")).toContain(code);
  expect(performance.now() - start).toBeLessThan(20_000);
  expect(process.memoryUsage().rss - before).toBeLessThan(1e9);
  const said = shown.join("\n");
  expect(said).toMatch(/^openmanus-rl \w+: /m);
  expect(said).not.toMatch(/^ {4}at /m);
  return said;
}

describe("sft --data", () => {
  const sft = (data: string, ...more: string[]) =>
    refusal(
      "sft",
      "--data",
      data,
      "--out",
      at("out"),
      "--epochs",
      "1",
      ...more,
      ...tinySettings(warm, at("run-sft")),
    );

  it.each([
    ["noise.jsonl", /line 1: is no JSON/],
    ["noise.jsonl.gz", /cannot be unpacked/],
    ["noise.parquet", /cannot be read as parquet/],
    ["footer.parquet", /cannot be read as parquet/],
    ["empty.jsonl", /there is nothing to learn in it/],
    ["empty.jsonl.gz", /cannot be unpacked/],
    ["empty.parquet", /cannot be read as parquet/],
    ["empty.json", /is no JSON/],
    ["text.txt", /what kind of file is it/],
    ["five.jsonl", /line 1: expected "messages"/],
    ["null.jsonl", /line 1: expected "messages"/],
    ["nulls.jsonl", /line 1: a message has no known role/],
    ["roles.jsonl", /line 1: a message has no known role/],
    ["object.json", /expected a list of chats/],
    ["deep.jsonl", /line 1: is no JSON/],
    ["cut.jsonl", /line 1: is no JSON/],
    ["cut.jsonl.gz", /cannot be unpacked/],
    ["bomb.jsonl.gz", /cannot be unpacked/],
    ["headless.jsonl", /expected "group" to be a text/],
    ["ids.jsonl", /turn 1: expected ids to be whole numbers/],
    ["nothing", /there is nothing to learn in it/],
    ["rollout", /000000\.jsonl, at byte 0: no JSON/],
    ["missing.jsonl", /there is no such file or folder/],
  ])("%s is refused", async (name, message) => {
    const said = await sft(at(name));
    expect(said).toMatch(message);
    expect(said).toContain(at(name));
  });

  it("leaves something to learn", async () => {
    writeFileSync(at("chats.jsonl"), CHAT.repeat(3));
    expect(await sft(at("chats.jsonl"), "--holdout", "3")).toMatch(
      /3 sequences are to be held out, and there are 3/,
    );
  });

  it("takes chats that are compressed or a list, and the folder of a rollout", async () => {
    writeFileSync(at("chats.jsonl.gz"), gzipSync(CHAT.repeat(3)));
    writeFileSync(at("chats.json"), `[${Array(3).fill(CHAT.trim()).join(",")}]`);
    const rollout = at("good");
    const words = [
      "rollout",
      LIGHTS,
      "--expert",
      "--model",
      warm,
      "--tasks",
      "3",
      "--out",
      rollout,
    ];
    expect(await main(words), shown.join("\n")).toBe(0);
    for (const data of [at("chats.jsonl.gz"), at("chats.json"), rollout]) {
      const out = at(`learned-${data.length}`);
      const sft = ["sft", "--data", data, "--out", out, "--epochs", "1", "--holdout", "1"];
      expect(await main([...sft, ...tinySettings(warm, at("run-sft"))]), shown.join("\n")).toBe(0);
      expect(shown.join("\n")).toContain("2 sequences to learn, 1 held out");
      shown = [];
    }
  });
});

describe("trajectories", () => {
  it.each([
    ["noise.jsonl", /at byte 0: no JSON|no episodes/],
    ["noise.jsonl.gz", /cannot be unpacked/],
    ["cut.jsonl.gz", /cannot be unpacked/],
    ["bomb.jsonl.gz", /cannot be unpacked/],
    ["empty.jsonl", /has no episodes/],
    ["text.txt", /is no file of trajectories/],
    ["footer.parquet", /is no file of trajectories/],
    ["headless.jsonl", /expected "group" to be a text/],
    ["numberless.jsonl", /expected "reward" to be a number/],
    ["ids.jsonl", /turn 1: expected ids to be whole numbers/],
    ["messages.jsonl", /turn 1: expected "messages" to be a list of role and content/],
    ["problems.jsonl", /turn 1: expected "problems" to be a list/],
    ["nothing", /has no episodes/],
    ["rollout", /no JSON/],
    ["missing", /there is nothing at/],
  ])("list, show and export refuse %s", async (name, message) => {
    const exported = ["--to", "chat", "--output", at("exported")];
    for (const words of [
      ["list", at(name)],
      ["show", at(name)],
      ["export", at(name), ...exported],
    ]) {
      expect(await refusal("trajectories", ...words)).toMatch(message);
      shown = [];
    }
  });

  it("export says where nothing can be written", async () => {
    await main(["rollout", "maze", "--expert", "--tasks", "1", "--out", at("one")]);
    shown = [];
    for (const form of ["chat", "messages", "parquet"])
      expect(
        await refusal(
          "trajectories",
          "export",
          at("one"),
          "--to",
          form,
          "--output",
          at("no/where"),
        ),
      ).toMatch(/no\/where: there is no such file or folder \(ENOENT, open\)/);
  });
});

describe("a place where nothing can be written", () => {
  it.each([
    ["rollout", "maze", "--expert", "--tasks", "1", "--out", "text.txt"],
    ["rollout", "maze", "--expert", "--tasks", "1", "--out", "text.txt/inside"],
    ["eval", "WARM", "--tasks", "1", "--out", "text.txt", "env.env_name=maze"],
    ["train", "--model", "WARM", "trainer.default_local_dir=text.txt", "env.env_name=maze"],
    ["data", "get", "alfworld", "--url", "http://127.0.0.1:1/", "--to", "text.txt"],
    ["data", "get", "alfworld", "--url", "http://127.0.0.1:1/", "--to", "text.txt/inside"],
    ["model", "init", "text.txt", "--preset", "tiny", "env.env_name=maze"],
    ["init", "text.txt"],
  ])("is named by %s", async (...words) => {
    const said = await refusal(
      ...words.map((word) => word.replace("WARM", warm).replace("text.txt", at("text.txt"))),
    );
    expect(said).toContain(at("text.txt"));
    expect(readFileSync(at("text.txt"), "utf8")).toBe("hello\n");
  });

  it("a disk that becomes full ends a rollout; what was stored before is whole", () => {
    // A limit on the size of files is a full disk that needs no privileges.
    const out = at("full");
    const script = `ulimit -f 200; exec "$0" bin/openmanus-rl.mjs rollout maze --expert --tasks 50 --episodes 20 --out "$1"`;
    const { status, stderr } = spawnSync("bash", ["-c", script, process.execPath, out], {
      encoding: "utf8",
    });
    expect(stderr).toMatch(/000000\.jsonl: .*larger than the disk.* \(EFBIG/);
    expect(stderr).not.toMatch(/^ {4}at /m);
    expect(status).toBe(1);
    expect([...readTrajectories(out)].length).toBeGreaterThan(5);
  }, 60_000);
});

describe("a configuration file", () => {
  it.each([
    ["circle.yaml", /nested more than 100 deep; does an alias/],
    ["deeper.yaml", /nested more than 100 deep; does an alias/],
    ["bomb.yaml", /alias/],
    ["wide.yaml", /more than 100000 values|alias/],
    ["prototype.yaml", /no setting __proto__/],
    ["noise.yaml", /noise\.yaml/],
    ["list.yaml", /expected settings/],
    ["nothing", /EISDIR/],
    ["missing.yaml", /ENOENT/],
  ])("%s is refused", async (name, message) => {
    expect(await refusal("train", "--dry-run", "--model", warm, "--config", at(name))).toMatch(
      message,
    );
  });
});

it.each([
  ["run", /metrics\.jsonl, line 2: no JSON .*Take the line out/],
  ["run-text", /line 1: expected "a" to be a number or null/],
  ["nothing", /there is no run in/],
])("metrics of %s that cannot be read are named", async (name, message) => {
  expect(await refusal("eval", "--run", at(name))).toMatch(message);
});

it("a rank that no matrix has is refused before memory is taken for it", async () => {
  const run = at("ranks");
  const settings = [...tinySettings(warm, run), "actor_rollout_ref.model.lora_rank=100000"];
  expect(await refusal("train", ...settings)).toMatch(
    /LoRA: the rank is 100000, expected at most \d+: the matrices/,
  );
  expect(existsSync(join(run, "checkpoints/step-000001"))).toBe(false);
});
