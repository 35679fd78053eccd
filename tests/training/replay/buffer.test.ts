/**
 * @file What the replay buffer keeps, what is taken from it and in which order, and its file.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { Trajectory } from "../../../src/rollout/index.ts";
import {
  REPLAY_FILE,
  readReplay,
  replayText,
} from "../../../src/training/checkpoint/replay-file.ts";
import type { ReplayOptions } from "../../../src/training/index.ts";
import {
  openReplay,
  priorityOf,
  type StoredEpisode,
  taskKey,
} from "../../../src/training/replay/buffer.ts";
import { chooseReplays, type PlayedGroup } from "../../../src/training/replay/choose.ts";
import { temporaryFolder } from "../../rollout/support.ts";
import { newTinyFolder, setUp, tinyConfig } from "../support/runs.ts";

const OPTIONS: ReplayOptions = {
  ...{ capacity: 100, perTask: 10, minimumScore: 1, maximumAge: 5, share: 0, rescue: true },
  ...{ priority: "advantage", halfLife: undefined, correction: "truncated", threshold: 2 },
};
const parent = temporaryFolder();
let real: Trajectory;

beforeAll(async () => {
  const made = await setUp(tinyConfig(newTinyFolder(parent), join(parent, "run")));
  real = made.trajectories[0]!;
  await made.workers.dispose();
});

/** An episode that was really played, under another name, task and time, and said to be won. */
function stored(id: string, task: string, step: number, advantage = 1, total = 10): StoredEpisode {
  const trajectory = { ...real, id, step, won: true, score: 1, task: { ...real.task, id: task } };
  const turns = new Float64Array(real.turns.length);
  return { trajectory, advantage, reward: { episode: total, turns, total, breakdown: {} } };
}

function played(task: string, place: number, own: Partial<PlayedGroup> = {}): PlayedGroup {
  const key = taskKey({ ...real.task, id: task });
  return { id: `group-${place}`, place, task: key, episodes: 4, won: false, best: 0, ...own };
}

const names = (episodes: readonly StoredEpisode[]) => episodes.map((one) => one.trajectory.id);

describe("the buffer", () => {
  it("keeps what is good, young, and the best of its task", () => {
    const buffer = openReplay({ ...OPTIONS, perTask: 2 });
    const lost = stored("lost", "a", 1);
    const bad = { ...lost, trajectory: { ...lost.trajectory, won: false, score: 0.5 } };
    buffer.add(1, [stored("a1", "a", 1, 0.3), bad, stored("a2", "a", 1, 0.9)]);
    expect(names(buffer.episodes)).toEqual(["a1", "a2"]);
    buffer.add(2, [stored("a3", "a", 2, 0.5), stored("b1", "b", 2, 0.1)]);
    expect(names(buffer.episodes)).toEqual(["a2", "a3", "b1"]);
    // What iteration 7 may take is at most 5 iterations old.
    buffer.add(6, []);
    expect(names(buffer.episodes)).toEqual(["a3", "b1"]);
    buffer.add(7, []);
    expect(buffer.episodes).toEqual([]);
  });

  it("lets go of the least when it is full, older ones first", () => {
    const aging = { ...OPTIONS, capacity: 2, halfLife: 1 };
    const buffer = openReplay(aging);
    buffer.add(1, [stored("old", "a", 1, 1), stored("best", "b", 1, 9)]);
    buffer.add(2, [stored("new", "c", 2, 1)]);
    expect(names(buffer.episodes)).toEqual(["best", "new"]);
    expect(priorityOf(stored("x", "a", 2, 3), 4, aging)).toBeCloseTo(3 / 4, 12);
    expect(priorityOf(stored("x", "a", 2, 3, 8), 2, { ...aging, priority: "score" })).toBe(8);
  });

  it("keeps what has a part of the score, where it is asked to", () => {
    const buffer = openReplay({ ...OPTIONS, minimumScore: 0.5 });
    const half = stored("half", "a", 1);
    buffer.add(1, [{ ...half, trajectory: { ...half.trajectory, won: false, score: 0.6 } }]);
    expect(names(buffer.episodes)).toEqual(["half"]);
  });

  it("is the same from its file", () => {
    const episodes = [stored("a1", "a", 1, 1 / 3), stored("b1", "b", 2, -0.1, 7.3)];
    writeFileSync(join(parent, REPLAY_FILE), replayText(episodes));
    const again = readReplay(parent);
    expect(again).toEqual(episodes);
    expect(replayText(again)).toBe(replayText(episodes));
    writeFileSync(join(parent, REPLAY_FILE), "{}\n{}\n");
    expect(() => readReplay(parent)).toThrow(/replay\.jsonl: /);
    expect(readReplay(join(parent, "nowhere"))).toEqual([]);
  });
});

describe("what is taken", () => {
  const how = { iteration: 5, seed: 1, comparesGroups: true };
  const said = (chosen: ReturnType<typeof chooseReplays>) =>
    chosen.map(({ episode, group, isRescue }) => [episode.trajectory.id, group, isRescue]);

  it("rescues groups in which nobody won, each by an episode of its own", () => {
    const buffer = [stored("a1", "a", 4), stored("b1", "b", 4), stored("c1", "c", 4)];
    const groups = [
      played("a", 0),
      played("b", 1, { won: true, best: 10 }),
      // The same task again, and nothing is left for it.
      played("a", 2),
      // Nobody won, and yet it did better.
      played("c", 3, { best: 11 }),
    ];
    expect(said(chooseReplays(buffer, groups, OPTIONS, how))).toEqual([["a1", "group-0", true]]);
  });

  it("fills up to its share, with the tasks that are played", () => {
    const buffer = Array.from({ length: 9 }, (_, i) => stored(`a${i}`, "a", 4));
    const groups = [played("a", 0, { won: true }), played("b", 1, { won: true })];
    const chosen = chooseReplays(
      [...buffer, stored("z", "z", 4)],
      groups,
      { ...OPTIONS, share: 0.4 },
      how,
    );
    // 5 of 13.
    expect(chosen).toHaveLength(5);
    expect(chosen.every(({ group }) => group === "group-0")).toBe(true);
  });

  it("gives others a group of their own, where groups are not compared", () => {
    const buffer = [stored("z", "z", 4), stored("b1", "b", 4)];
    const chosen = chooseReplays(
      ...([buffer, [played("b", 7)], { ...OPTIONS, share: 0.5 }] as const),
      { ...how, comparesGroups: false },
    );
    expect(said(chosen)).toEqual([
      ["b1", "group-7", true],
      ["z", "replay-5-1", false],
    ]);
    expect(chosen.map(({ place }) => place)).toEqual([7, 9]);
  });

  it("goes by priorities and seeds", () => {
    const buffer = Array.from({ length: 4 }, (_, i) => stored(`a${i}`, "a", 4, [1, 2, 3, 4][i]));
    const counts = [0, 0, 0, 0];
    for (let seed = 0; seed < 3000; seed++) {
      const [first] = chooseReplays(buffer, [played("a", 0)], OPTIONS, { ...how, seed });
      counts[Number(first!.episode.trajectory.id.slice(1))]!++;
    }
    for (const [i, count] of counts.entries())
      expect(Math.abs(count / 3000 - (i + 1) / 10)).toBeLessThan(0.03);
    const once = () => said(chooseReplays(buffer, [played("a", 0)], OPTIONS, how));
    expect(once()).toEqual(once());
  });
});
