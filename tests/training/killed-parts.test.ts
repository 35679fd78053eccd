/**
 * @file kill -9 with what stands around a run: programs that ask the gateway, a search, a dashboard that is open and read all
 * the while. Killed and started again, it is bitwise the run that nobody disturbed.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, it } from "vitest";
import { serveDashboard } from "../../src/dashboard/index.ts";
import { seededRandom } from "../../src/environments/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { watchDashboard } from "../../tools/soak/watch.ts";
import { resultsOf, startRun } from "./support/processes.ts";
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

it.each([
  ["programs at the gateway", [`env.env_name=${PROGRAM}`], 1],
  ["a search", ["env.search.strategy=mcts", "env.search.budget_states=24"], 2],
] as const)("%s, with a dashboard open", { timeout: 240_000 }, async (name, own, seed) => {
  const undisturbed = join(parent, `${seed}-undisturbed`);
  const quiet = startRun(settings(undisturbed, own));
  expect(await quiet.ended, quiet.lines.join("\n")).toBe(0);

  const dashboard = await serveDashboard({ folders: [parent] });
  const watching = new AbortController();
  const watched = watchDashboard(dashboard.url, watching.signal);
  const disturbed = join(parent, `${seed}-disturbed`);
  const random = seededRandom("kill", name, seed);
  try {
    for (const iteration of seed === 1 ? [0, 2] : [1]) {
      const moment = random.integer(150);
      const { child, ended } = startRun(settings(disturbed, own), (line) => {
        if (line === `at ${iteration + 1}`) setTimeout(() => child.kill("SIGKILL"), moment);
      });
      expect(await ended, `killed in iteration ${iteration + 1}`).toBe(null);
    }
    const last = startRun(settings(disturbed, own));
    expect(await last.ended, last.lines.join("\n")).toBe(0);
    const rows = (await (await fetch(`${dashboard.url}/api/runs`)).json()) as { id: string }[];
    expect(JSON.stringify(rows)).toContain(`${seed}-disturbed`);
  } finally {
    watching.abort();
    await watched;
    await dashboard.close();
  }
  expect(resultsOf(disturbed, ITERATIONS)).toEqual(resultsOf(undisturbed, ITERATIONS));
});
