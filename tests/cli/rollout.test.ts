/**
 * @file The commands rollout and trajectories.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { main } from "../../src/cli/main.ts";
import { tokenText } from "../../src/cli/support/trajectory-text.ts";
import { MARKER_FILE } from "../../src/folders/index.ts";
import { loadTokenizer } from "../../src/models/index.ts";
import { readTrajectories } from "../../src/rollout/index.ts";
import { answerOf, fakeServer, sendJson } from "../generation/server/fake-server.ts";
import { newModelFolder, openChat, temporaryFolder } from "../rollout/support.ts";

const folder = temporaryFolder();
const model = newModelFolder(folder);
const WORLD = ["household", "games=6", "difficulty=easy"];

let out: string[];
let errors: string[];
beforeEach(() => {
  out = [];
  errors = [];
  vi.spyOn(console, "log").mockImplementation((text: string) => void out.push(text));
  vi.spyOn(console, "error").mockImplementation((text: string) => void errors.push(text));
});
afterEach(() => vi.restoreAllMocks());

const json = () => JSON.parse(out.join("\n")) as Record<string, never>;
let runs = 0;
const fresh = () => join(folder, `run-${runs++}`);

describe("rollout", () => {
  it("does not keep episodes that it has stored", { timeout: 120_000 }, async () => {
    // The world looks at the memory that is in use when an episode begins, garbage taken away.
    const [world, memory] = [join(folder, "wordy.mts"), join(folder, "memory.txt")];
    writeFileSync(
      world,
      `import { appendFileSync } from "node:fs";
       import { defineEnvironment } from "openmanus-rl";
       export default defineEnvironment({
         name: "wordy",
         summary: "says much",
         maximumSteps: 2,
         splits: { train: 120 },
         start: (task) => {
           gc();
           appendFileSync(${JSON.stringify(memory)}, process.memoryUsage().heapUsed + "\\n");
           return 0;
         },
         intro: () => "go on",
         act: () => ({ text: Math.random() + "word ".repeat(30000), won: true }),
         expert: () => ({ act: () => "go" }),
       });`,
    );
    const words = ["rollout", world, "--expert", "--tasks", "120", "--concurrency", "1"];
    const place = fresh();
    const { status, stderr } = spawnSync(
      process.execPath,
      ["--expose-gc", "bin/openmanus-rl.mjs", ...words, "--out", place],
      { encoding: "utf8" },
    );
    expect(status, stderr).toBe(0);
    const used = readFileSync(memory, "utf8").trim().split("\n").map(Number);
    expect(used).toHaveLength(120);
    // An episode takes 150 kB: if they were kept, 100 of them would take 15 MB.
    expect(used[119]! - used[19]!).toBeLessThan(8e6);
    expect([...readTrajectories(place)]).toHaveLength(120);
  });

  it("lets the expert play, and says how often it wins, by kind", async () => {
    const place = fresh();
    const words = ["rollout", ...WORLD, "--expert", "--tasks", "6", "--episodes", "2"];
    expect(await main([...words, "--format", "openmanus", "--out", place])).toBe(0);
    expect(out.join("\n")).toMatch(/^all +12 +12 +100\.0 % +75\.8 % – 100\.0 %/m);
    expect([...readTrajectories(join(place, "trajectories"))]).toHaveLength(12);
    expect(readdirSync(place).sort()).toEqual([MARKER_FILE, "rollout.json", "trajectories"]);
    // A second rollout is not mixed with the first.
    expect(await main([...words, "--out", place])).toBe(2);
    expect(errors.join("\n")).toMatch(/has trajectories already/);
  });

  it.each([
    [["--context", "conversation"]],
    [["--history", "1"]],
    [["--memory"]],
    [["--summary", "--reply-tokens", "4"]],
    [["--constrain", "--reply-tokens", "64"]],
    [["--bare", "--format", "think-action"]],
  ])("lets a model play: %j", async (more) => {
    const place = fresh();
    const words = ["rollout", ...WORLD, "--model", model, "--tasks", "3", "--turns", "4"];
    const drawing = ["--temperature", "0.9", "--top-p", "0.95", "--reply-tokens", "8"];
    expect(await main([...words, ...drawing, ...more, "--out", place, "--json"])).toBe(0);
    const { table, account } = json() as { table: { all: object }; account: object } & object;
    expect(table.all).toMatchObject({ episodes: 3 });
    expect(account).toMatchObject({ episodes: 3, leftOut: 0, turns: 12 });
    const played = [...readTrajectories(join(place, "trajectories"))];
    const replies = played.flatMap(({ turns }) => turns.map(({ reply }) => reply));
    expect(replies.every(({ source }) => source === "policy")).toBe(true);
    if (more[0] === "--constrain")
      expect(played.every(({ turns }) => turns.every((turn) => turn.admissible))).toBe(true);
    if (more[0] === "--memory") expect(readdirSync(join(place, "memory"))).toHaveLength(3);
  });

  it.each(["best_of_n", "beam", "mcts"])("searches for its episodes: %s", async (strategy) => {
    const place = fresh();
    const words = ["rollout", ...WORLD, "--model", model, "--tasks", "2", "--turns", "3"];
    const search = ["--search", strategy, "--budget-states", "12", "--width", "3"];
    const settings = ["--constrain", "--reply-tokens", "64", "--out", place, "--json"];
    expect(await main([...words, ...search, ...settings])).toBe(0);
    const { account } = json() as { account: object } & object;
    const played = [...readTrajectories(join(place, "trajectories"))];
    expect(played.map(({ error }) => error)).toEqual([undefined, undefined]);
    expect(played.map((one) => one.search?.strategy)).toEqual([strategy, strategy]);
    const spent = played.reduce((sum, one) => sum + one.search!.tokens, 0);
    expect(account).toMatchObject({ episodes: 2, sampledTokens: spent });
  });

  it.each([
    [["--search", "mtcs"], "did you mean mcts?"],
    [["--search", "mcts"], "give it one"],
    [["--width", "3"], "go with --search"],
    [
      ["--search", "beam", "--judge", "me"],
      "--judge takes one of score, likelihood, model, reward_model, critic",
    ],
  ])("a search that makes no sense is refused: %j", async (words, sentence) => {
    expect(await main(["rollout", ...WORLD, "--model", model, ...words])).toBe(2);
    expect(errors.join("\n")).toContain(sentence);
  });

  it("gives the same episodes for the same seed, and others for another", async () => {
    const replies = async (seed: string, concurrency: string) => {
      const place = fresh();
      const words = ["rollout", ...WORLD, "--model", model, "--tasks", "4", "--turns", "3"];
      const settings = ["--reply-tokens", "6", "--seed", seed, "--concurrency", concurrency];
      expect(await main([...words, ...settings, "--out", place])).toBe(0);
      const all = [...readTrajectories(join(place, "trajectories"))];
      return Object.fromEntries(
        all.map(({ id, turns }) => [id, turns.map((turn) => turn.reply.ids)]),
      );
    };
    const first = await replies("5", "4");
    expect(await replies("5", "1")).toEqual(first);
    expect(await replies("6", "4")).not.toEqual(first);
  });

  it("shows the first prompt exactly as the model will see it", async () => {
    const words = ["rollout", ...WORLD, "--model", model, "--dry-run", "--format", "react"];
    expect(await main(words)).toBe(0);
    expect(out.join("\n")).toMatch(
      /^<\|im_start\|>system\n.*Thought: .*<\|im_start\|>assistant\n$/s,
    );
    const text = out.join("\n");
    out = [];
    expect(await main([...words, "--json"])).toBe(0);
    const shown = json() as { ids: number[]; text: string } & object;
    expect(shown.text).toBe(text);
    expect(loadTokenizer(model).decode(shown.ids)).toBe(text);
    // The model's own first prompt is that.
    out = [];
    const place = fresh();
    const play = words.filter((word) => word !== "--dry-run");
    expect(await main([...play, "--tasks", "1", "--reply-tokens", "2", "--out", place])).toBe(0);
    const [played] = readTrajectories(join(place, "trajectories"));
    expect(played!.turns[0]!.promptIds).toEqual(shown.ids);
  });

  it.each<[string[], number, RegExp]>([
    [[], 2, /which world/],
    [["household"], 2, /who plays\?/],
    [["household", "--expert", "--server", "http://x"], 2, /who plays\?/],
    [["household", "--model", "/nowhere"], 2, /no model in "\/nowhere"/],
    [["household", "--model", "m", "--tokenizer", "x"], 2, /go with --server/],
    [
      ["household", "--expert", "--tasks", "0"],
      2,
      /--tasks takes a whole number, 1 or more; got "0"/,
    ],
    [["household", "--expert", "--temperature=-1"], 2, /--temperature takes a number, 0 or more/],
    [["household", "--expert", "--format", "xml"], 2, /--format takes one of action/],
    [["household", "--expert", "--context", "x"], 2, /--context takes/],
    [["household", "--expert", "--memory", "--context", "conversation"], 2, /need --context steps/],
    [["household", "--expert", "--memory", "--summary"], 2, /one of them/],
    [["household", "--expert", "--summary"], 2, /--summary needs a model/],
    [["household", "--expert", "--split", "x"], 1, /no split "x"/],
    [["household", "--expert", "extra"], 2, /takes no "extra"/],
    [["household", "--expert", "--colour"], 2, /colour/],
    [["./tests/support/world-without-expert.ts", "--expert"], 2, /no scripted expert/],
    [["household", "--server", "ftp://x", "--model", "m"], 2, /baseUrl must be like/],
    [
      [
        "household",
        "--server",
        "http://127.0.0.1:1/v1",
        "--model",
        "m",
        "--key-variable",
        "NO_SUCH_KEY",
      ],
      2,
      /--key-variable takes the name of a variable/,
    ],
  ])("%j says what is wrong", async (words, code, message) => {
    expect(await main(["rollout", ...words])).toBe(code);
    expect(errors.join("\n")).toMatch(message);
  });
});

describe("rollout over HTTP", () => {
  const chat = openChat(model);
  const choose = (text: string) => text.split("You can: ").at(-1)!.split(" |")[0]!;

  it("asks a server for ids, with the model's tokenizer", async () => {
    const { baseUrl, received } = await fakeServer((response, { body }) => {
      const action = choose(chat.tokenizer.decode(body.prompt as number[]));
      const ids = [...chat.tokenizer.encode(action), chat.endOfTurnId];
      return sendJson(response, answerOf({ ids, logprobs: ids.map(() => -0.25), text: action }));
    });
    const place = fresh();
    const words = ["rollout", ...WORLD, "--server", baseUrl, "--model", "m", "--tokenizer", model];
    expect(await main([...words, "--tasks", "2", "--turns", "2", "--out", place])).toBe(0);
    expect(received[0]).toMatchObject({ path: "/v1/completions", body: { model: "m" } });
    const [first] = readTrajectories(join(place, "trajectories"));
    expect(first!.turns[0]!.reply).toMatchObject({ source: "policy" });
    expect(first!.turns[0]!.admissible).toBe(true);
  });

  it("asks a server for chats without one, and marks the replies", async () => {
    vi.stubEnv("OPENMANUS_TEST_KEY", "secret");
    const { baseUrl, received } = await fakeServer((response, { body }) => {
      const messages = body.messages as { role: string; content: string }[];
      const content = choose(messages.at(-1)!.content);
      const choices = [{ message: { role: "assistant", content }, finish_reason: "stop" }];
      return sendJson(response, { choices, usage: { completion_tokens: 4 } });
    });
    const place = fresh();
    const server = ["--server", baseUrl, "--model", "gpt", "--key-variable", "OPENMANUS_TEST_KEY"];
    const words = ["rollout", ...WORLD, ...server, "--tasks", "1", "--turns", "2"];
    expect(await main([...words, "--out", place])).toBe(0);
    vi.unstubAllEnvs();
    expect(received.map(({ path }) => path)).toEqual(Array(2).fill("/v1/chat/completions"));
    expect(received[0]!.headers.authorization).toBe("Bearer secret");
    const roles = (received[1]!.body.messages as { role: string }[]).map(({ role }) => role);
    expect(roles).toEqual(["system", "user", "assistant", "user"]);
    const [first] = readTrajectories(join(place, "trajectories"));
    expect(first!.turns.map(({ reply }) => reply.source)).toEqual(["retokenized", "retokenized"]);
    expect(first!.turns[0]!.reply.text).toBe(first!.turns[0]!.action);
  });

  it("ends with an error when the server refuses everything", async () => {
    const { baseUrl } = await fakeServer((response) =>
      sendJson(response, { error: { message: "no such model" } }, 404),
    );
    const words = ["rollout", ...WORLD, "--server", baseUrl, "--model", "gpt", "--tasks", "2"];
    expect(await main([...words, "--retries", "0"])).toBe(1);
    expect(out.join("\n")).toMatch(/2 policy error.*! 0:.*no such model/s);
  });
});

describe("trajectories", () => {
  const place = join(folder, "shown");
  beforeEach(async () => {
    if (existsSync(place)) return;
    const words = ["rollout", ...WORLD, "--model", model, "--tasks", "3", "--turns", "3"];
    expect(await main([...words, "--reply-tokens", "6", "--out", place])).toBe(0);
    out = [];
  });

  it("are listed", async () => {
    expect(await main(["trajectories", "list", place])).toBe(0);
    expect(out.join("\n").split("\n")).toHaveLength(4);
    out = [];
    expect(await main(["trajectories", "list", place, "--json", "--status", "won"])).toBe(0);
    expect(json()).toEqual([]);
  });

  it("are shown, in words and in tokens", async () => {
    const [first] = readTrajectories(join(place, "trajectories"));
    expect(await main(["trajectories", "show", place])).toBe(0);
    expect(out.join("\n")).toMatch(/── turn 3 ──.*\[reply\].*turn limit after 3 turns/s);
    out = [];
    expect(await main(["trajectories", "show", place, first!.id, "--tokens"])).toBe(0);
    const text = out.join("\n");
    expect(text).toContain("<|im_start|>user");
    // Every drawn token has its bracket with its log-probability.
    const drawn = first!.turns.reduce((sum, { reply }) => sum + reply.ids.length, 0);
    expect(text.match(/\|-?\d+\.\d\d\]/g)).toHaveLength(drawn);
    expect(text).toMatch(/tokens, log p -\d/);
    const painted = tokenText(first!, loadTokenizer(model), true);
    expect(painted).toContain("\u001b[2m<|im_start|>");
    expect(["32", "33", "31"].some((colour) => painted.includes(`\u001b[${colour}m`))).toBe(true);
    expect(tokenText(first!, undefined, false)).toMatch(/Ids only/);
  });

  it("are exported in every form", async () => {
    const file = (name: string) => join(folder, name);
    const to = (form: string, name: string, ...more: string[]) =>
      main(["trajectories", "export", place, "--to", form, "--output", file(name), ...more]);
    expect(await to("messages", "a.json")).toBe(0);
    const messages = JSON.parse(readFileSync(file("a.json"), "utf8")) as { from: string }[][];
    expect(messages).toHaveLength(3);
    expect(messages[0]!.map(({ from }) => from)).toEqual(Array(3).fill(["human", "gpt"]).flat());
    expect(await to("chat", "b.jsonl")).toBe(0);
    expect(readFileSync(file("b.jsonl"), "utf8").trim().split("\n")).toHaveLength(3);
    expect(await to("parquet", "c.parquet")).toBe(0);
    const rows = await parquetReadObjects({ file: await asyncBufferFromFile(file("c.parquet")) });
    expect(rows).toHaveLength(3);
    expect(await to("chat", "d.jsonl", "--won")).toBe(0);
    expect(readFileSync(file("d.jsonl"), "utf8")).toBe("");
  });

  it.each<[string[], RegExp]>([
    [[], /there are trajectories list, show and export/],
    [["list"], /takes a file or a folder/],
    [["list", "/nowhere"], /nothing at \/nowhere/],
    [["list", folder, "x"], /list takes no "x"/],
    [["show", place, "nobody"], /no episode "nobody"/],
    [["show", place, "0:"], /"0:" could be 0:/],
    [["export", place, "--to", "chat"], /needs --output/],
    [["export", place, "--to", "csv", "--output", "x"], /--to takes messages, chat or parquet/],
  ])("%j says what is wrong", async (words, message) => {
    expect(await main(["trajectories", ...words])).toBe(2);
    expect(errors.join("\n")).toMatch(message);
  });
});
