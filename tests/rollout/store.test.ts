/**
 * @file The trajectory store: appended, indexed, repaired after a crash, compressed, truncated; exports
 * that others read.
 */
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";
import { beforeAll, describe, expect, it } from "vitest";
import { createAgent } from "../../src/agents/index.ts";
import {
  collect,
  fromLine,
  openTrajectoryStore,
  readTrajectories,
  type Trajectory,
  TrajectoryLineError,
  toChats,
  toDocumentMessages,
  toLine,
  writeParquet,
} from "../../src/rollout/index.ts";
import { countingRollout, newModelFolder, openChat, temporaryFolder } from "./support.ts";

const folder = temporaryFolder();
const chat = openChat(newModelFolder(folder));
let episodes: readonly Trajectory[];
let steps: readonly Trajectory[];
beforeAll(async () => {
  const options = await countingRollout(chat, 4);
  ({ all: episodes } = await collect(options));
  ({ all: steps } = await collect({ ...options, agent: createAgent({ context: "steps" }) }));
});

let stores = 0;
const fresh = () => join(folder, `store-${stores++}`);
const at = (step: number, member = 0): Trajectory => ({
  ...episodes[member % 4]!,
  step,
  id: `${step}:t#${member}`,
});

describe("a line", () => {
  it("holds all of an episode", () => {
    const [episode] = episodes;
    expect(fromLine(toLine(episode!))).toEqual(episode);
    expect(fromLine(toLine(episode!)).turns[0]!.reply.logprobs[0]).toBeNaN();
    expect(typeof fromLine(toLine(episode!)).seed).toBe("bigint");
  });

  it("holds any words, on one line", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }),
        fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
        (text, seed) => {
          const episode = { ...episodes[0]!, lastObservation: text, seed };
          const line = toLine(episode);
          expect(line).not.toContain("\n");
          // A file has bytes: half of a surrogate pair must survive them, too.
          expect(fromLine(Buffer.from(line).toString())).toEqual(episode);
        },
      ),
    );
  });

  it.each<[string, (record: Record<string, unknown>) => unknown, RegExp]>([
    ["no JSON", () => "{", /no JSON/],
    ["no object", () => "7", /expected an object|expected "id"/],
    ["null", () => "null", /expected an object/],
    ["no id", ({ id: _, ...rest }) => rest, /expected "id" to be a text/],
    [
      "a seed that is no number",
      (record) => ({ ...record, seed: "x" }),
      /"seed" to be a whole number/,
    ],
    ["no task", ({ task: _, ...rest }) => rest, /expected "task" with an "id"/],
    ["no turns", ({ turns: _, ...rest }) => rest, /expected "turns" to be a list/],
    ["a turn of null", (record) => ({ ...record, turns: [null] }), /turn 1: expected lists/],
    [
      "a turn without sampledLogprobs",
      (record) => ({ ...record, turns: withReply(record, { sampledLogprobs: undefined }) }),
      /turn 1: \d+ ids, and not as many sampledLogprobs/,
    ],
    [
      "fewer logprobs than ids",
      (record) => ({ ...record, turns: withReply(record, { logprobs: [] }) }),
      /not as many logprobs/,
    ],
    [
      "a reply without text",
      (record) => ({ ...record, turns: withReply(record, { text: 1 }) }),
      /"reply.text" to be a text/,
    ],
  ])("with %s is no episode", (_, change, message) => {
    const changed = change(JSON.parse(toLine(episodes[0]!)) as Record<string, unknown>);
    const line = typeof changed === "string" ? changed : JSON.stringify(changed);
    expect(() => fromLine(line)).toThrow(TrajectoryLineError);
    expect(() => fromLine(line)).toThrow(message);
  });
});

function withReply(record: Record<string, unknown>, change: object) {
  const [first, ...rest] = record.turns as { reply: object }[];
  return [{ ...first, reply: { ...first!.reply, ...change } }, ...rest];
}

describe("a store", () => {
  it("gives back what was appended, now and when it is opened again", () => {
    const place = fresh();
    const store = openTrajectoryStore(place);
    const stored = [at(0, 0), at(0, 1), at(1, 2), at(1, 3)];
    for (const episode of stored) store.append(episode);
    store.flush();
    const check = (opened: typeof store) => {
      expect(opened.episodes().map(({ id }) => id)).toEqual(stored.map(({ id }) => id));
      for (const episode of stored) expect(opened.read(episode.id)).toEqual(episode);
    };
    check(store);
    store.close();
    const again = openTrajectoryStore(place);
    check(again);
    again.append(at(1, 4));
    expect(again.read("1:t#4")).toEqual(at(1, 4));
    expect([...readTrajectories(place)].map(({ id }) => id)).toEqual([
      ...stored.map(({ id }) => id),
      "1:t#4",
    ]);
    expect(again.episodes()[0]).toMatchObject({ step: 0, status: "won", won: true, reward: 10 });
    expect(() => again.read("9")).toThrow(/there is no episode "9"/);
    again.close();
  });

  it("cuts off a torn last line, wherever it was torn, and goes on", () => {
    const whole = `${toLine(at(0, 0))}\n${toLine(at(0, 1))}\n`;
    const second = Buffer.byteLength(`${toLine(at(0, 0))}\n`);
    const size = Buffer.byteLength(whole);
    const places = [second, second + 1, size - 2, size - 1, size, 1, 0];
    for (const length of places) {
      const place = fresh();
      openTrajectoryStore(place).close();
      const file = join(place, "000000.jsonl");
      writeFileSync(file, whole);
      truncateSync(file, length);
      const kept = length === size ? 2 : length >= second ? 1 : 0;
      const torn = length - (kept === 2 ? size : kept === 1 ? second : 0);
      // Reading alone leaves the file as it is.
      expect([...readTrajectories(file)]).toHaveLength(kept);
      const store = openTrajectoryStore(place);
      expect(store.repaired).toBe(torn);
      store.append(at(0, 2));
      store.close();
      expect(openTrajectoryStore(place).episodes()).toHaveLength(kept + 1);
    }
  });

  it("repairs a torn line that is longer than one piece of reading", () => {
    const place = fresh();
    const store = openTrajectoryStore(place);
    store.append(at(0));
    store.close();
    appendFileSync(join(place, "000000.jsonl"), "x".repeat(200_000));
    const again = openTrajectoryStore(place);
    expect(again.repaired).toBe(200_000);
    expect(again.read("0:t#0")).toEqual(at(0));
  });

  it("says where a line was altered", () => {
    const place = fresh();
    const store = openTrajectoryStore(place);
    store.append(at(0, 0));
    store.append(at(0, 1));
    store.close();
    const file = join(place, "000000.jsonl");
    writeFileSync(file, readFileSync(file, "utf8").replace('"seed"', '"sead"'));
    expect(() => openTrajectoryStore(place)).toThrow(
      /000000.jsonl, at byte 0: expected "seed".*altered/,
    );
  });

  it("compresses old iterations, and reads them", () => {
    const place = fresh();
    const store = openTrajectoryStore(place, { uncompressed: 2 });
    for (let step = 0; step < 6; step++) store.append(at(step, step));
    const files = readdirSync(place).sort();
    expect(files.filter((name) => name.endsWith(".gz"))).toHaveLength(4);
    expect(files.filter((name) => name.endsWith(".jsonl"))).toEqual([
      "000004.jsonl",
      "000005.jsonl",
    ]);
    expect(store.read("1:t#1")).toEqual(at(1, 1));
    store.close();
    const again = openTrajectoryStore(place);
    expect(again.episodes().map(({ step }) => step)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(again.read("0:t#0")).toEqual(at(0, 0));
    expect([...readTrajectories(place)]).toHaveLength(6);
  });

  it("is read to its end while its run goes on, and compresses what was listed", () => {
    const place = fresh();
    const store = openTrajectoryStore(place, { uncompressed: 2 });
    for (let step = 0; step < 2; step++) store.append(at(step, step));
    const read = readTrajectories(place);
    expect(read.next().value).toEqual(at(0));
    for (let step = 2; step < 5; step++) store.append(at(step, step));
    expect([...read]).toEqual([at(1, 1)]);
    store.close();
  });

  it("does without the index of a compressed file, or with a wrong one", () => {
    const place = fresh();
    const store = openTrajectoryStore(place, { uncompressed: 1 });
    for (let step = 0; step < 3; step++) store.append(at(step));
    store.close();
    for (const content of ["{", '{"size": 1, "episodes": []}', "null"]) {
      writeFileSync(join(place, "000000.jsonl.gz.index.json"), content);
      expect(openTrajectoryStore(place).read("0:t#0")).toEqual(at(0));
    }
  });

  it("keeps a late episode of an iteration that is compressed already", () => {
    const place = fresh();
    const store = openTrajectoryStore(place, { uncompressed: 1 });
    for (let step = 0; step < 4; step++) store.append(at(step));
    store.append(at(0, 1));
    store.append(at(4));
    store.close();
    const again = openTrajectoryStore(place);
    expect(again.read("0:t#0")).toEqual(at(0));
    expect(again.read("0:t#1")).toEqual(at(0, 1));
    expect(again.episodes()).toHaveLength(6);
  });

  it("settles what a crash in the middle of a compression left", () => {
    const place = fresh();
    const store = openTrajectoryStore(place, { uncompressed: 1 });
    for (let step = 0; step < 3; step++) store.append(at(step));
    store.close();
    writeFileSync(join(place, "000001.jsonl.gz.new"), "half");
    // Compressed, and the first not removed yet.
    writeFileSync(join(place, "000000.jsonl"), `${toLine(at(0))}\n`);
    const again = openTrajectoryStore(place);
    expect(again.episodes()).toHaveLength(3);
    expect(existsSync(join(place, "000000.jsonl"))).toBe(false);
    expect(existsSync(join(place, "000001.jsonl.gz.new"))).toBe(false);
  });

  it("forgets iterations that are played again", () => {
    const place = fresh();
    const store = openTrajectoryStore(place, { uncompressed: 1 });
    for (let step = 0; step < 4; step++) store.append(at(step));
    store.truncate(2);
    expect(store.episodes().map(({ step }) => step)).toEqual([0, 1]);
    store.append(at(2, 3));
    store.close();
    const again = openTrajectoryStore(place);
    expect(again.episodes().map(({ id }) => id)).toEqual(["0:t#0", "1:t#0", "2:t#3"]);
    again.truncate(0);
    expect(again.episodes()).toEqual([]);
    expect(readdirSync(place)).toEqual([]);
  });

  it("has nothing to read where there is nothing", () => {
    expect(() => [...readTrajectories(join(folder, "nowhere"))]).toThrow(
      /there is no such file or folder/,
    );
    expect([...readTrajectories(openTrajectoryStore(fresh()).folder)]).toEqual([]);
  });
});

describe("exports", () => {
  it("as the documents' messages", () => {
    const messages = toDocumentMessages(episodes[0]!);
    expect(messages.map(({ from }) => from)).toEqual(["human", "gpt", "human", "gpt"]);
    expect(messages[0]!.value).toMatch(/count to 2.*Nothing is said/s);
    expect(messages[1]).toMatchObject({ value: "say 1", reward: 0, info: {} });
    expect(messages.at(-1)).toEqual({
      ...{ from: "gpt", value: "say 2", reward: 10 },
      info: { success: true, score: 1, status: "won" },
    });
  });

  it("as chats: one per episode, or per turn", () => {
    const [conversation, ...more] = toChats(episodes[0]!);
    expect(more).toEqual([]);
    expect(conversation!.map(({ role }) => role)).toEqual([
      "system",
      "user",
      "assistant",
      "user",
      "assistant",
    ]);
    expect(toChats(steps[0]!)).toHaveLength(steps[0]!.turns.length);
  });

  it.each([0, 1, 2000])("as a parquet of %s episodes", async (count) => {
    const file = join(folder, `${count}.parquet`);
    const all = Array.from({ length: count }, (_, i) => episodes[i % 4]!);
    const odd = all.map((one, i) =>
      i === 0 ? { ...one, status: "lost" as const, won: false } : one,
    );
    expect(writeParquet(file, odd)).toBe(count);
    const rows = await parquetReadObjects({ file: await asyncBufferFromFile(file) });
    expect(rows).toHaveLength(count);
    for (const [i, row] of rows.entries()) {
      const one = odd[i]!;
      expect(row).toEqual({
        messages: toChats(one)[0]!.map(({ role, content }) => ({ role, content })),
        data_source: "counting",
        item_id: one.id,
        status: one.status,
        reward: one.reward,
        score: one.score,
        won: one.won,
      });
    }
  });
});
