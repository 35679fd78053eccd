/**
 * @file Which tasks an iteration plays, and how long: in an order that does not care what came of them, or by a curriculum.
 * What it goes by are the groups of all ranks, so that all draw the same; where it stands is part of a checkpoint.
 */
import type { Metrics } from "../../algorithms/index.ts";
import type { RunWorld } from "../../assembly/index.ts";
import { seededRandom, type TaskSet } from "../../environments/index.ts";
import { type TaskOrder, type TaskPlaces, taskOrder } from "../loop/task-order.ts";
import type { CurriculumOptions, RolloutOptions } from "../options.ts";
import { weightedOrder } from "../weighted-order.ts";
import { difficultiesOf, fromEasyToHard, openShare } from "./difficulty.ts";
import { checkStages, turnsAt } from "./horizon.ts";
import { type Kinds, openKinds } from "./kinds.ts";
import { openRecords, type GroupOutcome, type Records, type TaskRecords } from "./records.ts";
import { drawingWeights } from "./success-rate.ts";

export interface Curriculum {
  /** Tasks handed out so far; a checkpoint stores it. */
  readonly drawn: number;
  /** What a checkpoint stores besides; undefined: nothing. */
  readonly records: TaskRecords | undefined;
  /** What an iteration plays; asked for once, when those before it have been played. */
  begin(iteration: number): IterationPlan;
}

export interface IterationPlan {
  readonly order: TaskPlaces;
  /** Of an episode at most. */
  readonly turns: number;
  /** To be told the groups of all ranks, in their order, when the iteration has been played. */
  played(groups: readonly GroupOutcome[]): Metrics;
}

export interface CurriculumState {
  readonly drawnTasks: number;
  readonly curriculum?: TaskRecords | undefined;
}

/** `state`: where a checkpoint stands. */
export async function openCurriculum(
  { world, trainSplit, turns }: Pick<RunWorld, "world" | "trainSplit" | "turns">,
  rollout: Pick<RolloutOptions, "shuffle" | "shuffleSeed" | "curriculum">,
  state: CurriculumState = { drawnTasks: 0 },
): Promise<Curriculum> {
  const tasks = await world.tasks(trainSplit);
  const plain = taskOrder(tasks, rollout.shuffleSeed, rollout.shuffle);
  plain.drawn = state.drawnTasks;
  const { curriculum: how } = rollout;
  if (!how) return withoutCurriculum(plain, turns);
  if (how.by === "horizon") checkStages(how, turns);
  const records = openRecords(how.memory, state.curriculum);
  const kinds = how.by === "kind" ? openKinds(tasks, how, state.curriculum?.kinds) : undefined;
  const seed = rollout.shuffleSeed;
  const drawing = await drawingOf(how, { world, tasks, plain, records, kinds, seed });
  return {
    get drawn() {
      return plain.drawn;
    },
    get records() {
      return { ...records.stored(), ...(kinds && { kinds: kinds.stored() }) };
    },
    begin(iteration) {
      const { order, metrics } = drawing(iteration);
      const allowed = how.by === "horizon" ? turnsAt(iteration, how) : turns;
      return {
        order,
        turns: allowed,
        played(groups) {
          const known = knownRates(groups, records);
          for (const group of groups) records.add(group);
          kinds?.add(groups);
          return {
            ...metrics?.(groups),
            ...known,
            "curriculum/tasks_seen": records.count / tasks.length,
            "curriculum/turns": allowed,
          };
        },
      };
    },
  };
}

/** The order of tasks as it is. */
export function withoutCurriculum(order: TaskOrder, turns: number): Curriculum {
  return {
    get drawn() {
      return order.drawn;
    },
    records: undefined,
    begin: () => ({ order, turns, played: () => ({}) }),
  };
}

/** The order of an iteration's tasks, and what there is to say of it. */
type Drawing = (iteration: number) => {
  readonly order: TaskPlaces;
  readonly metrics?: (groups: readonly GroupOutcome[]) => Metrics;
};

async function drawingOf(
  how: CurriculumOptions,
  {
    world,
    tasks,
    plain,
    records,
    kinds,
    seed,
  }: {
    world: RunWorld["world"];
    tasks: TaskSet;
    plain: TaskOrder;
    records: Records;
    kinds: Kinds | undefined;
    seed: number;
  },
): Promise<Drawing> {
  if (how.by === "success_rate")
    return (iteration) => {
      const weights = drawingWeights(tasks.length, records, how);
      return {
        order: ordered(plain, tasks, weightedOrder(weights, "success rate", seed, iteration)),
      };
    };
  if (kinds)
    return (iteration) => ({
      order: ordered(plain, tasks, weightedOrder(kinds.weights(), "kind", seed, iteration)),
    });
  if (how.by === "difficulty") {
    const difficulties = await difficultiesOf(world, tasks);
    const sorted = fromEasyToHard(difficulties, tasks, seed);
    return (iteration) => {
      const open = Math.max(1, Math.ceil(openShare(iteration, how) * tasks.length));
      const drawn = seededRandom("open tasks", seed, iteration).shuffled(sorted.slice(0, open));
      return {
        order: ordered(plain, tasks, drawn),
        metrics: (groups) => ({
          "curriculum/open_share": open / tasks.length,
          ...(groups.length > 0 && {
            "curriculum/difficulty": mean(groups.map(({ index }) => difficulties[index]!)),
          }),
        }),
      };
    };
  }
  return () => ({ order: plain });
}

/** From where the order of tasks stands, these indices instead, again and again. */
function ordered(plain: TaskOrder, tasks: TaskSet, indices: readonly number[]): TaskPlaces {
  const first = plain.drawn;
  const indexAt = (place: number) => indices[(place - first) % indices.length]!;
  return {
    get drawn() {
      return plain.drawn;
    },
    set drawn(count) {
      plain.drawn = count;
    },
    indexAt,
    at: (place) => tasks.task(indexAt(place)),
  };
}

/** How the drawn tasks did before they were drawn. */
function knownRates(groups: readonly GroupOutcome[], records: Records): Metrics {
  const rates = groups.flatMap(({ index }) => records.successRate(index) ?? []);
  return {
    ...(rates.length > 0 && { "curriculum/success_rate": mean(rates) }),
    ...(groups.length > 0 && { "curriculum/new_tasks": 1 - rates.length / groups.length }),
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
