/**
 * @file Batches, and the loud check: whatever is changed in a good batch is found, with the episode and
 * the place.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { createAgent } from "../../src/agents/index.ts";
import {
  anchorsOf,
  type Batch,
  BatchError,
  checkBatch,
  checkLogprobs,
  collect,
  isValidTurn,
  packTrajectories,
  type Trajectory,
  type Turn,
} from "../../src/rollout/index.ts";
import {
  asSampled,
  countingRollout,
  newModelFolder,
  openChat,
  temporaryFolder,
} from "./support.ts";

const chat = openChat(newModelFolder(temporaryFolder()));
const all: Record<"conversation" | "steps", Trajectory[]> = { conversation: [], steps: [] };

beforeAll(async () => {
  for (const context of ["conversation", "steps"] as const) {
    const options = { ...(await countingRollout(chat, 3)), agent: createAgent({ context }) };
    const collection = await collect({ ...options, members: 2 });
    all[context] = collection.all.map(asSampled);
  }
});

describe("a batch", () => {
  it("of conversations has a row per episode: its turns behind each other", () => {
    const { rows, ids, positions, trajectoryOf, spans } = packTrajectories(all.conversation);
    expect([...trajectoryOf]).toEqual([0, 1, 2, 3, 4, 5]);
    for (const [row, { turns }] of all.conversation.entries()) {
      const [from, to] = [rows.offsets[row]!, rows.offsets[row + 1]!];
      const expected = turns.flatMap(({ promptIds, reply }) => [...promptIds, ...reply.ids]);
      expect([...ids.subarray(from, to)]).toEqual(expected);
      expect([...positions.subarray(from, to)]).toEqual(expected.map((_, i) => i));
      const mask = turns.flatMap(({ promptIds, reply }) => [
        ...promptIds.map(() => 0),
        ...reply.ids.map(() => 1),
      ]);
      expect([...rows.mask.subarray(from, to)]).toEqual(mask);
    }
    expect(spans.anchors).toHaveLength(spans.row.length);
  });

  it("has anchors by observation, or by state: an action that changed nothing leaves it", () => {
    const turn = (anchor: string, admissible?: boolean, action: string | null = "go") =>
      ({ anchor, action, problems: [], ...(admissible !== undefined && { admissible }) }) as never;
    const turns = [
      ...[turn("shelf", false), turn("nothing", false), turn("nothing", true)],
      ...[turn("table", undefined, null), turn("?"), turn("sink")],
    ];
    const told = ["shelf", "nothing", "nothing", "table", "?", "sink"];
    expect(anchorsOf(turns, "observation")).toEqual(told);
    expect(anchorsOf(turns, "state")).toEqual([
      ...["shelf", "shelf", "shelf"],
      ...["table", "table", "sink"],
    ]);
    const [first, ...others] = all.conversation;
    const stuck = { ...first!, turns: first!.turns.map((one) => ({ ...one, admissible: false })) };
    const { spans } = packTrajectories([stuck, ...others], { anchors: "state" });
    expect(spans.anchors.slice(0, stuck.turns.length)).toEqual(
      stuck.turns.map(() => stuck.turns[0]!.anchor),
    );
    expect(spans.anchors).toHaveLength(spans.row.length);
  });

  it("of steps has a row per turn, in order", () => {
    const { rows, trajectoryOf, order, spans } = packTrajectories(all.steps);
    const turns = all.steps.flatMap((episode, i) => episode.turns.map((_, turn) => [i, turn]));
    expect([...trajectoryOf].map((owner, row) => [owner, order[row]])).toEqual(turns);
    expect([...spans.row]).toEqual(turns.map((_, row) => row));
    expect(rows.offsets).toHaveLength(turns.length + 1);
  });

  it("of both contexts keeps the rules of each, and of none is empty", () => {
    const mixed = [all.steps[0]!, all.conversation[1]!, all.steps[2]!];
    checkBatch(packTrajectories(mixed));
    checkBatch(packTrajectories([]));
  });

  it("has no place for episodes without turns", () => {
    const idle = { ...all.steps[0]!, turns: [], status: "context full" as const };
    expect(() => packTrajectories([idle])).toThrow(/0:train\/0#0 \(context full\) has no turn/);
  });

  it("carries the world's rewards and validity by span", () => {
    const { spans } = packTrajectories(all.steps);
    const turns = all.steps.flatMap((episode) => episode.turns);
    expect([...spans.rewards]).toEqual(turns.map(({ reward }) => reward));
    expect([...spans.valid]).toEqual(turns.map(() => 1));
  });
});

it("validity is two facts, and the rule says which counts", () => {
  const good = all.steps[0]!.turns[0]!;
  const problems = [{ kind: "twice", field: "action", message: "" }] as const;
  const cases: [Partial<Turn>, form: boolean, admissible: boolean][] = [
    [{}, true, true],
    [{ admissible: null }, true, true],
    [{ admissible: false }, true, false],
    [{ problems }, false, true],
    [{ problems, action: null, admissible: null }, false, false],
  ];
  for (const [change, form, admissible] of cases) {
    const turn = { ...good, ...change };
    expect(isValidTurn(turn, "form")).toBe(form);
    expect(isValidTurn(turn, "admissible")).toBe(admissible);
    expect(isValidTurn(turn, "both")).toBe(form && admissible);
  }
});

/** A change that leaves the batch's other parts as they are. */
function put(
  column: Int32Array | Uint8Array | Float64Array,
  place: number,
  value: number,
): undefined {
  column[place] = value;
}

describe.each(["conversation", "steps"] as const)("the check of %s", (context) => {
  /** A batch, and the token and span at which the changes below are made. */
  const fresh = () => {
    const batch = packTrajectories(all[context]);
    const span = batch.spans.turn.findIndex((turn, i) => i > 2 && turn === 1);
    const { start, end, row, trajectory } = batch.spans;
    return {
      batch,
      span,
      start: start[span]!,
      end: end[span]!,
      row: row[span]!,
      owner: trajectory[span]!,
    };
  };
  type Fresh = ReturnType<typeof fresh>;
  const reply = (batch: Batch, { span, owner }: Fresh, change: Partial<Turn["reply"]>): Batch => {
    const turn = batch.spans.turn[span]!;
    const trajectories = batch.trajectories.map((one, i) =>
      i === owner
        ? {
            ...one,
            turns: one.turns.map((t, j) =>
              j === turn ? { ...t, reply: { ...t.reply, ...change } } : t,
            ),
          }
        : one,
    );
    return { ...batch, trajectories };
  };

  it("finds nothing in a good batch", () => {
    checkBatch(fresh().batch, chat.tokenizer.vocabularySize);
  });

  it.each<[string, (made: Fresh) => Batch | undefined, RegExp]>([
    [
      "a sampled token that is not trained",
      ({ batch, start }) => put(batch.rows.mask, start, 0),
      /sampled token 0 is not trained/,
    ],
    [
      "a prompt's token that is trained",
      ({ batch, start }) => put(batch.rows.mask, start - 1, 1),
      /trained and not sampled/,
    ],
    [
      "another token",
      ({ batch, start }) => put(batch.ids, start, batch.ids[start]! + 1),
      /token 0 is \d+, but \d+ was sampled/,
    ],
    [
      "another token in a prompt",
      ({ batch, start }) => put(batch.ids, start - 1, batch.ids[start - 1]! + 1),
      /of its prompt is \d+, \d+ was given/,
    ],
    [
      "tokens that changed places",
      ({ batch, start }) => void batch.ids.subarray(start, start + 2).reverse(),
      /was sampled/,
    ],
    [
      "a log-probability of NaN",
      ({ batch, start }) => put(batch.logprobs, start, Number.NaN),
      /log-probability of token 0 is NaN/,
    ],
    [
      "one above 0",
      ({ batch, start }) => put(batch.logprobs, start, 0.5),
      /is 0.5, expected a finite number up to 0/,
    ],
    [
      "one that is another token's",
      ({ batch, start }) => put(batch.logprobs, start, -9),
      /is -9, -.* was recorded/,
    ],
    [
      "a position",
      ({ batch, start }) => put(batch.positions, start, batch.positions[start]! + 1),
      /has position/,
    ],
    [
      "the position of a prompt's token",
      ({ batch, start }) => put(batch.positions, start - 1, batch.positions[start - 1]! - 1),
      /has position/,
    ],
    [
      "a span that is too short",
      ({ batch, span }) => put(batch.spans.end, span, batch.spans.end[span]! - 1),
      /trained tokens for \d+ sampled ones/,
    ],
    [
      "a span that begins late",
      ({ batch, span }) => put(batch.spans.start, span, batch.spans.start[span]! + 1),
      /said to begin at token/,
    ],
    [
      "a span of another row",
      ({ batch, span }) => put(batch.spans.row, span, batch.spans.row[span]! + 1),
      /said to be in row/,
    ],
    [
      "a span of another turn",
      ({ batch, span }) => put(batch.spans.turn, span, batch.spans.turn[span]! + 1),
      /not in their order/,
    ],
    [
      "a row that begins elsewhere",
      ({ batch, row }) => put(batch.rows.offsets, row, batch.rows.offsets[row]! + 1),
      /its row begins at token|has position/,
    ],
    [
      "a row of another episode",
      ({ batch, row }) => put(batch.trajectoryOf, row, 0),
      /another episode's/,
    ],
    [
      "a scripted reply",
      (made) => reply(made.batch, made, { source: "scripted" }),
      /is scripted, not what the policy drew/,
    ],
    [
      "a retokenized reply",
      (made) => reply(made.batch, made, { source: "retokenized" }),
      /is retokenized/,
    ],
    ["a reply of other ids", (made) => reply(made.batch, made, { ids: [1, 2] }), /sampled/],
    [
      "a turn that is left out",
      ({ batch }) => {
        const cut = Object.fromEntries(
          Object.entries(batch.spans).map(([name, column]) => [name, column.slice(0, -1)]),
        ) as unknown as Batch["spans"];
        return { ...batch, spans: cut };
      },
      /only \d of \d turns are there/,
    ],
    [
      "tokens behind the last turn",
      ({ batch }) => ({ ...batch, ids: Int32Array.of(...batch.ids, 7) }),
      /the batch has \d+ tokens, its turns have \d+/,
    ],
  ])("finds %s", (_, change, message) => {
    const made = fresh();
    const changed = change(made) ?? made.batch;
    let error: unknown;
    try {
      checkBatch(changed);
    } catch (caught) {
      error = caught;
    }
    expect(error).toBeInstanceOf(BatchError);
    expect((error as Error).message).toMatch(message);
    expect((error as Error).message).toMatch(/^episode 0:train\/\d#\d, turn \d: /);
  });

  it("finds tokens outside of the vocabulary", () => {
    expect(() => checkBatch(fresh().batch, 10)).toThrow(/outside of the vocabulary/);
  });

  it("compares log-probabilities, and names the worst", () => {
    const { batch, start, owner, span } = fresh();
    const same = Float64Array.from(batch.logprobs);
    expect(checkLogprobs(batch, same, 0)).toMatchObject({ largest: 0, mean: 0 });
    // What is not trained is not compared.
    same[start - 1] = 77;
    checkLogprobs(batch, same, 0);
    same[start + 1]! += 1e-3;
    expect(checkLogprobs(batch, same, 2e-3).largest).toBeCloseTo(1e-3);
    const place = `episode ${batch.trajectories[owner]!.id}, turn ${batch.spans.turn[span]! + 1}`;
    expect(() => checkLogprobs(batch, same, 1e-5)).toThrow(`${place}: token 1: the recorded`);
    for (const wrong of [Number.NaN, -Infinity, Infinity]) {
      same[start + 1] = wrong;
      expect(() => checkLogprobs(batch, same, 1e-5)).toThrow(`${place}: token 1`);
    }
    const recorded = Float64Array.from(batch.logprobs).fill(Number.NaN);
    expect(() => checkLogprobs(batch, batch.logprobs, 1, recorded)).toThrow(BatchError);
  });
});
