/**
 * @file The episode of a run that can be watched: what stands in its file is what was played, and a run that is watched is
 * bitwise the run that is not, whether the file can be written or not.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { loadTokenizer } from "../../src/models/index.ts";
import { type LiveLine, openLiveFile } from "../../src/monitoring/index.ts";
import { readTrajectories } from "../../src/rollout/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { resultsOf } from "./support/processes.ts";
import { tinyRun, warmTinyFolder } from "./support/runs.ts";

const parent = temporaryFolder();
let warm: string;
beforeAll(async () => {
  warm = await warmTinyFolder(parent);
}, 240_000);

const linesOf = (file: string) =>
  readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as LiveLine);
const of = <Kind extends LiveLine["kind"]>(lines: readonly LiveLine[], kind: Kind) =>
  lines.filter((line): line is Extract<LiveLine, { kind: Kind }> => line.kind === kind);

describe("a run that is watched", { timeout: 240_000 }, () => {
  it("writes down the newest episodes as they were played, and is the same run", async () => {
    const own = ["trainer.total_epochs=2", "trainer.save_freq=2"];
    const { run } = await tinyRun(parent, warm, [...own, "trainer.live_episodes=2"]);
    const lines = linesOf(join(run, "live.jsonl"));
    expect(lines[0]).toMatchObject({ kind: "iteration", iteration: 2 });
    expect(of(lines, "begun")).toHaveLength(2);
    const tokenizer = loadTokenizer(warm);
    const episodes = [...readTrajectories(join(run, "trajectories"))];
    for (const { episode } of of(lines, "begun")) {
      const own = lines.filter((line) => "episode" in line && line.episode === episode);
      const played = episodes.find(({ id }) => id === episode)!;
      expect(played.member).toBe(0);
      const told = of(own, "told");
      expect(told.map(({ text }) => text)).toEqual(played.turns.map((turn) => turn.observation));
      for (const [turn, { reply }] of played.turns.entries()) {
        const drawn = of(own, "drawn").filter((line) => line.turn === turn);
        const tokens = drawn.flatMap((line) => line.tokens);
        expect(tokens.map(([text]) => text).join("")).toBe(tokenizer.decode(reply.ids));
        expect(tokens.map(([, logprob]) => logprob)).toEqual([...reply.logprobs]);
      }
      expect(of(own, "acted").map(({ action }) => action)).toEqual(
        played.turns.map(({ action }) => action),
      );
      expect(of(own, "ended")).toMatchObject([{ status: played.status, reward: played.reward }]);
    }
    const unwatched = await tinyRun(parent, warm, [...own, "trainer.live_episodes=0"]);
    expect(existsSync(join(unwatched.run, "live.jsonl"))).toBe(false);
    expect(resultsOf(unwatched.run, 2)).toEqual(resultsOf(run, 2));
  });
});

describe("the file", () => {
  const tokens = { stream: () => ({ push: (id: number) => `<${id}>`, finish: () => "" }) };
  const episode = (id: string, place = 0) => ({
    ...{ id, place, step: 1, member: 0, attempt: 0 },
    task: { environment: "w", split: "train", id: "task" },
  });

  it("begins anew with an iteration, joins what waits, and stays small", () => {
    const file = join(parent, "live.jsonl");
    const live = openLiveFile(file, { episodes: 1, pause: 1e6, largest: 4000 });
    onTestFinished(() => live.close());
    const first = live.iteration(1, tokens, true);
    expect(first(episode("other", 1))).toBeUndefined();
    expect(first({ ...episode("other"), member: 1 })).toBeUndefined();
    const watch = first(episode("one"))!;
    watch.told(0, "x".repeat(1000), ["a", "b"]);
    for (const id of [1, 2]) watch.token!(0, { id, logprob: -id, sampledLogprob: -id });
    const again = live.iteration(2, tokens, true);
    // The first iteration is there, whole, until something of the next is written.
    expect(linesOf(file).map(({ kind }) => kind)).toEqual(["iteration", "begun", "told", "drawn"]);
    const next = again(episode("two"))!;
    for (const id of [1, 2]) next.token!(0, { id, logprob: -id, sampledLogprob: Number.NaN });
    live.close();
    expect(linesOf(file).map(({ kind }) => kind)).toEqual(["iteration", "begun", "drawn"]);
    expect(linesOf(file)[2]).toMatchObject({
      tokens: [
        ["<1>", -1],
        ["<2>", -2],
      ],
    });
  });

  it("shows iterations that are shorter than its pause: some, and those whole", async () => {
    const file = join(parent, "short.jsonl");
    const live = openLiveFile(file, { episodes: 1, pause: 50 });
    onTestFinished(() => live.close());
    const shown = new Set<unknown>();
    for (let iteration = 1; iteration <= 40; iteration++) {
      const watch = live.iteration(iteration, tokens, true)(episode(`${iteration}`))!;
      watch.told(0, "hello");
      watch.token!(0, { id: iteration, logprob: -1, sampledLogprob: -1 });
      await new Promise((resolve) => setTimeout(resolve, 8));
      const lines = linesOf(file);
      const [first] = of(lines, "iteration");
      if (first?.iteration === iteration) continue;
      expect(lines.map(({ kind }) => kind)).toEqual(["iteration", "begun", "told", "drawn"]);
      shown.add(first?.iteration);
    }
    expect(shown.size).toBeGreaterThanOrEqual(3);
  });

  it("says that it is full, and takes nothing more", () => {
    const file = join(parent, "full.jsonl");
    const live = openLiveFile(file, { episodes: 1, pause: 0, largest: 4000 });
    const watch = live.iteration(1, tokens, true)(episode("one"))!;
    for (let turn = 0; turn < 100; turn++) watch.told(turn, "y".repeat(100));
    live.close();
    expect(statSync(file).size).toBeLessThan(4100);
    expect(linesOf(file).at(-1)).toEqual({ kind: "full" });
  });

  it("that cannot be written is not, and nobody hears of it", () => {
    const folder = join(parent, "a folder");
    mkdirSync(folder);
    const live = openLiveFile(folder, { episodes: 1, pause: 0 });
    const watch = live.iteration(1, tokens, true)(episode("one"))!;
    watch.told(0, "hello");
    rmSync(folder, { recursive: true });
    // It tries again with the next iteration.
    live.iteration(2, tokens, true)(episode("two"))!.told(0, "hello");
    live.close();
    expect(linesOf(folder)).toHaveLength(3);
  });
});
