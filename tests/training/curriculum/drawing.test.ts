/**
 * @file What curricula draw: chances, orders and stages against formulas of their own.
 */
import { describe, expect, it } from "vitest";
import { openWorld, type TaskSet, taskList, type World } from "../../../src/environments/index.ts";
import { difficultiesOf, fromEasyToHard } from "../../../src/training/curriculum/difficulty.ts";
import { openRecords } from "../../../src/training/curriculum/records.ts";
import { drawingWeights } from "../../../src/training/curriculum/success-rate.ts";
import {
  type CurriculumOptions,
  openCurriculum,
  stagesProblem,
  taskOrder,
} from "../../../src/training/index.ts";
import { weightedOrder } from "../../../src/training/weighted-order.ts";

const SUCCESS = { by: "success_rate", floor: 0.1, unseen: 1, memory: 0.5 } as const;

function listed(count: number, own: (index: number) => object = () => ({})): TaskSet {
  return taskList(
    "desk",
    "train",
    Array.from({ length: count }, (_, i) => ({
      ...{ environment: "desk", split: "train", id: `task-${i}` },
      ...own(i),
    })),
  );
}

/** A world of tasks and nothing else. */
function worldOf(tasks: TaskSet): World {
  const environment = () => expect.unreachable();
  return { name: "desk", splits: ["train"], tasks: () => tasks, environment };
}

function opened(tasks: TaskSet, curriculum?: CurriculumOptions, state?: object) {
  const world = { world: worldOf(tasks), trainSplit: "train", turns: 30 };
  const rollout = { shuffle: true, shuffleSeed: 7, curriculum };
  return openCurriculum(world, rollout, { drawnTasks: 0, ...state });
}

/** The indices of an iteration's tasks, which then are played with these outcomes. */
async function iterations(
  curriculum: Awaited<ReturnType<typeof opened>>,
  [first, last]: readonly [number, number],
  won: (index: number) => number,
) {
  const drawn: number[][] = [];
  const metrics: Record<string, number>[] = [];
  for (let iteration = first; iteration <= last; iteration++) {
    const { order, played } = curriculum.begin(iteration);
    const indices = Array.from({ length: 8 }, (_, i) => order.indexAt(order.drawn + i));
    order.drawn += 8;
    drawn.push(indices);
    metrics.push(played(indices.map((index) => ({ index, episodes: 4, won: won(index) }))));
  }
  return { drawn, metrics };
}

describe("by success rate", () => {
  it("is drawn by weights, without putting back", () => {
    const weights = Float64Array.of(1, 0.1, 2, 0.4);
    const sum = 3.5;
    const times = 6000;
    const first = [0, 0, 0, 0];
    let pairs = 0;
    for (let seed = 0; seed < times; seed++) {
      const order = weightedOrder(weights, seed);
      expect([...order].sort()).toEqual([0, 1, 2, 3]);
      first[order[0]!]!++;
      if (order[0] === 2 && order[1] === 0) pairs++;
    }
    for (const [i, weight] of weights.entries())
      expect(Math.abs(first[i]! / times - weight / sum)).toBeLessThan(0.02);
    expect(Math.abs(pairs / times - (2 / sum) * (1 / (sum - 2)))).toBeLessThan(0.02);
  });

  it("weighs what is solved half of the time most, and forgets", () => {
    const records = openRecords(0.5);
    records.add({ index: 0, episodes: 8, won: 4 });
    records.add({ index: 1, episodes: 8, won: 8 });
    records.add({ index: 2, episodes: 8, won: 0 });
    records.add({ index: 2, episodes: 8, won: 4 });
    const third = 4 / 12;
    const expected = [1, 0.1, 4 * third * (1 - third), 1];
    const weights = drawingWeights(4, records, SUCCESS);
    for (const [i, weight] of expected.entries()) expect(weights[i]).toBeCloseTo(weight, 12);
    expect(openRecords(0.5, records.stored()).stored()).toEqual(records.stored());
  });

  it("comes back to what teaches, and to the rest by the floor", async () => {
    const { drawn, metrics } = await iterations(
      await opened(listed(64), SUCCESS),
      [1, 200],
      (index) => (index < 8 ? 2 : 0),
    );
    const late = drawn.slice(50).flat();
    const telling = late.filter((index) => index < 8).length / late.length;
    // 8 of weight 1 and 56 of weight 0.1: without putting back, a little less than 8 / 13.6.
    expect(telling).toBeGreaterThan(0.4);
    expect(telling).toBeLessThan(8 / 13.6);
    expect(new Set(late).size).toBe(64);
    expect(metrics[0]).toMatchObject({
      "curriculum/tasks_seen": 8 / 64,
      "curriculum/new_tasks": 1,
    });
    expect(metrics[0]).not.toHaveProperty("curriculum/success_rate");
    expect(metrics.at(-1)!["curriculum/tasks_seen"]).toBe(1);
    expect(metrics.at(-1)!["curriculum/success_rate"]).toBeGreaterThan(0.1);
  });

  it("with the same seed the same order, also from the middle", async () => {
    const won = (index: number) => index % 5;
    const whole = await iterations(await opened(listed(40), SUCCESS), [1, 20], won);
    const begun = await opened(listed(40), SUCCESS);
    const half = await iterations(begun, [1, 9], won);
    const state = { drawnTasks: begun.drawn, curriculum: begun.records };
    const resumed = await opened(listed(40), SUCCESS, JSON.parse(JSON.stringify(state)));
    const rest = await iterations(resumed, [10, 20], won);
    expect([...half.drawn, ...rest.drawn]).toEqual(whole.drawn);
    expect([...half.metrics, ...rest.metrics]).toEqual(whole.metrics);
  });
});

describe("by kind", () => {
  const how = { by: "kind", floor: 0.1, memory: 0.5 } as const;
  /** Of ten tasks one is rare, three are common and six are easy. */
  const KINDS = ["rare", ...Array(3).fill("common"), ...Array(6).fill("easy")];
  const tasks = () => listed(200, (i) => ({ type: KINDS[i % 10] }));
  const RATES: Record<string, number> = { rare: 2, common: 1, easy: 4 };
  const won = (index: number) => RATES[KINDS[index % 10]!]!;

  it("plays those most that are solved half of the time, and in a kind all alike", async () => {
    const { drawn } = await iterations(await opened(tasks(), how), [1, 1200], won);
    const late = drawn.slice(20).flat();
    const share = (kind: string) =>
      late.filter((index) => KINDS[index % 10] === kind).length / late.length;
    // 4 p (1 - p): 1, 0.75 and the floor; times how many there are.
    const sum = 1 * 1 + 3 * 0.75 + 6 * 0.1;
    expect(share("rare")).toBeCloseTo(1 / sum, 1);
    expect(share("common")).toBeCloseTo((3 * 0.75) / sum, 1);
    expect(share("easy")).toBeCloseTo(0.6 / sum, 1);
    expect(new Set(late).size).toBe(200);
  });

  it("an iteration is one entry of a kind's record, and a checkpoint has it", async () => {
    const begun = await opened(tasks(), how);
    const plan = begun.begin(1);
    plan.played([
      { index: 0, episodes: 4, won: 4 },
      { index: 10, episodes: 4, won: 0 },
      { index: 4, episodes: 4, won: 1 },
    ]);
    begun.begin(2).played([{ index: 20, episodes: 4, won: 4 }]);
    expect(begun.records?.kinds).toEqual({ tasks: [0, 2], episodes: [8, 4], won: [6, 1] });
    const half = await iterations(begun, [3, 9], won);
    const state = { drawnTasks: begun.drawn, curriculum: begun.records };
    const resumed = await opened(tasks(), how, JSON.parse(JSON.stringify(state)));
    const [rest, same] = [
      await iterations(begun, [10, 20], won),
      await iterations(resumed, [10, 20], won),
    ];
    expect(half.drawn).toHaveLength(7);
    expect(same).toEqual(rest);
  });

  it("is refused where there is one kind, or none is known", async () => {
    await expect(opened(listed(3), how)).rejects.toThrow(
      /by=kind: all 3 tasks of the split "train" are of one kind \(the world names none\)/,
    );
  });
});

describe("by difficulty", () => {
  const how = { by: "difficulty", easiest: 0.25, iterations: 10, memory: 0.5 } as const;

  it("opens from the easiest share to all", async () => {
    // What is hard stands first.
    const tasks = listed(40, (i) => ({ difficulty: 40 - i }));
    const { drawn, metrics } = await iterations(await opened(tasks, how), [1, 14], () => 0);
    for (const [i, indices] of drawn.entries()) {
      const share = Math.min(1, 0.25 + (0.75 * i) / 10);
      expect(metrics[i]!["curriculum/open_share"]).toBeCloseTo(share, 1);
      for (const index of indices) expect(40 - index).toBeLessThanOrEqual(Math.ceil(40 * share));
    }
    expect(
      Math.max(
        ...drawn
          .slice(10)
          .flat()
          .map((index) => 40 - index),
      ),
    ).toBeGreaterThan(35);
  });

  it("is the length of the solution where the world says nothing else", async () => {
    const world = await openWorld("maze", {
      maze: "generated",
      width: 9,
      height: 9,
      games: 30,
    });
    const tasks = await world.tasks("train");
    const found = await difficultiesOf(world, tasks);
    for (let i = 0; i < 30; i++)
      expect(found[i]).toBe((await world.solution!(tasks.task(i)))!.length);
    const sorted = fromEasyToHard(found, tasks, 1).map((index) => found[index]!);
    expect(sorted).toEqual([...found].sort((a, b) => a - b));
    await world.close?.();
  });

  it("of several worlds, each by its own", async () => {
    const named = (environment: string, difficulty: number, i: number) => ({
      ...{ environment, split: "train", id: `${environment}-${i}`, difficulty },
    });
    const tasks = taskList("mixed", "train", [
      ...[10, 20, 30].map((difficulty, i) => named("long", difficulty, i)),
      ...[3, 2, 1].map((difficulty, i) => named("short", difficulty, i)),
    ]);
    const sorted = fromEasyToHard(Float64Array.of(10, 20, 30, 3, 2, 1), tasks, 1);
    expect(sorted.slice(0, 2).sort()).toEqual([0, 5]);
    expect(sorted.slice(2, 4).sort()).toEqual([1, 4]);
  });

  it("is refused where nobody knows it, or all is the same", async () => {
    await expect(opened(listed(3), how)).rejects.toThrow(
      /nobody knows how difficult the task task-0 of desk is.*by=success_rate/,
    );
    await expect(
      opened(
        listed(3, () => ({ difficulty: 2 })),
        how,
      ),
    ).rejects.toThrow(/all 3 tasks of the split "train" are equally difficult \(2\)/);
  });
});

describe("by horizon", () => {
  const stages = [
    [1, 5],
    [4, 12],
  ] as const;

  it("grows in stages, over the order of tasks as it is", async () => {
    const curriculum = await opened(listed(20), { by: "horizon", stages, memory: 0.5 });
    const plain = taskOrder(listed(20), 7, true);
    for (const [iteration, turns] of [
      [1, 5],
      [3, 5],
      [4, 12],
      [90, 12],
    ] as const) {
      const plan = curriculum.begin(iteration);
      expect(plan.turns).toBe(turns);
      expect(plan.played([])["curriculum/turns"]).toBe(turns);
      for (let place = 0; place < 30; place++)
        expect(plan.order.indexAt(place)).toBe(plain.indexAt(place));
    }
  });

  it("refuses stages that are none", async () => {
    expect(stagesProblem([])).toMatch(/no stage; expected some as in/);
    expect(stagesProblem([[2, 5]])).toMatch(/begins with iteration 2; expected 1/);
    expect(
      stagesProblem([
        [1, 5],
        [1, 6],
      ]),
    ).toMatch(/in their order/);
    const long = { by: "horizon", stages: [[1, 31]], memory: 0.5 } as const;
    await expect(opened(listed(2), long)).rejects.toThrow(
      /allows 31 turns from iteration 1 on, but an episode has 30 at most; set env.max_steps/,
    );
  });
});

it("without one it is the order of tasks, and nothing is said or stored", async () => {
  const curriculum = await opened(listed(20));
  const plain = taskOrder(listed(20), 7, true);
  const { order, played, turns } = curriculum.begin(1);
  expect(turns).toBe(30);
  for (let place = 0; place < 50; place++) expect(order.indexAt(place)).toBe(plain.indexAt(place));
  expect(played([{ index: 1, episodes: 2, won: 1 }])).toEqual({});
  expect(curriculum.records).toBeUndefined();
});
