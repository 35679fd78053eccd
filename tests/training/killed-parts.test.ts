/**
 * @file kill -9 with what a run has besides: programs that ask the gateway, a search, a replay buffer (also while it is
 * written), updates that compute a common beginning once; a dashboard is open and read all the while. Killed and started
 * again, it is bitwise the run that nobody disturbed.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, it } from "vitest";
import { serveDashboard } from "../../src/dashboard/index.ts";
import { seededRandom } from "../../src/environments/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { watchDashboard } from "../../tools/soak/watch.ts";
import { type Kill, killedRun, resultsOf, startRun } from "./support/processes.ts";
import { tinySettings, warmTinyFolder } from "./support/runs.ts";

const PROGRAM = fileURLToPath(new URL("./support/program-world.ts", import.meta.url));
const parent = temporaryFolder();
let warm: string;

beforeAll(async () => {
  warm = await warmTinyFolder(parent, { episodes: 60, epochs: 3 });
}, 240_000);

const ITERATIONS = 4;
const settings = (run: string, own: readonly string[]) => [
  ...tinySettings(warm, run),
  ...["algorithm.adv_estimator=grpo", "trainer.save_freq=1", `trainer.total_epochs=${ITERATIONS}`],
  ...own,
];

const CASES: [name: string, own: string[], kills: [iteration: number, kill: Kill][]][] = [
  [
    "programs at the gateway",
    [`env.env_name=${PROGRAM}`],
    [
      [0, 150],
      [2, 150],
    ],
  ],
  ["a search", ["env.search.strategy=mcts", "env.search.budget_states=24"], [[1, 150]]],
  [
    "a replay buffer",
    [
      ...["data.curriculum.by=success_rate", "data.curriculum.unseen=0.002"],
      ...["data.curriculum.floor=1", "algorithm.replay.enable=True", "algorithm.replay.share=0.3"],
    ],
    [
      [1, 150],
      [2, "checkpoint"],
    ],
  ],
  [
    "updates that share beginnings, of several mini-batches",
    [
      ...["actor_rollout_ref.actor.use_prefix_grouper=True", "env.context=steps"],
      ...["actor_rollout_ref.actor.ppo_mini_batch_size=12", "env.rollout.n=4"],
    ],
    [
      [0, 150],
      [2, "checkpoint"],
    ],
  ],
];

it.each(CASES)("%s, with a dashboard open", { timeout: 240_000 }, async (name, own, kills) => {
  const undisturbed = join(parent, `${name}, undisturbed`);
  const quiet = startRun(settings(undisturbed, own));
  expect(await quiet.ended, quiet.lines.join("\n")).toBe(0);

  const dashboard = await serveDashboard({ folders: [parent] });
  const watching = new AbortController();
  const watched = watchDashboard(dashboard.url, watching.signal);
  const disturbed = join(parent, `${name}, disturbed`);
  const random = seededRandom("kill", name);
  try {
    for (const [iteration, kill] of kills) {
      const moment = kill === "checkpoint" ? kill : random.integer(kill);
      const line = `at ${iteration + 1}`;
      const { code } = await killedRun(settings(disturbed, own), disturbed, line, moment);
      expect(code, `killed in iteration ${iteration + 1}`).toBe(null);
    }
    const last = startRun(settings(disturbed, own));
    expect(await last.ended, last.lines.join("\n")).toBe(0);
    const rows = (await (await fetch(`${dashboard.url}/api/runs`)).json()) as { id: string }[];
    expect(JSON.stringify(rows)).toContain(`${name}, disturbed`);
  } finally {
    watching.abort();
    await watched;
    await dashboard.close();
  }
  const expected = resultsOf(undisturbed, ITERATIONS);
  expect(resultsOf(disturbed, ITERATIONS)).toEqual(expected);
  if (name === "a replay buffer")
    expect(expected.metrics.some(({ metrics }) => (metrics["replay/share"] ?? 0) > 0)).toBe(true);
});
