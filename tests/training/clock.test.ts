/**
 * @file A clock that jumps by a day, forwards and back, all the time while a run trains: its results are bitwise those of a run
 * whose clock stands still, it waits as long as it should, durations are durations, and its folder stays its own.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, it } from "vitest";
import { FolderBusyError, isHeld, takeLock } from "../../src/folders/index.ts";
import { isTiming, readMetrics } from "../../src/monitoring/index.ts";
import { readTrajectories } from "../../src/rollout/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { resultsOf, startRun, startScript } from "./support/processes.ts";
import { tinySettings, warmTinyFolder } from "./support/runs.ts";

const here = (name: string) => fileURLToPath(new URL(`./support/${name}`, import.meta.url));
const ITERATIONS = 3;
const parent = temporaryFolder();
let warm: string;

beforeAll(async () => {
  warm = await warmTinyFolder(parent, { episodes: 60, epochs: 3 });
}, 240_000);

it.each([
  // Long enough for a machine that is busy: what is never answered is what is late.
  ["a slow world", "slow-lights.ts", ["env.rollout.step_seconds=1", "env.rollout.retries=0"]],
  ["programs at the gateway", "program-world.ts", []],
])("%s", { timeout: 240_000 }, async (_, world, own) => {
  const settings = (run: string) => [
    ...tinySettings(warm, run),
    ...["algorithm.adv_estimator=grpo", "trainer.save_freq=1", `env.env_name=${here(world)}`],
    ...[`trainer.total_epochs=${ITERATIONS}`, "trainer.test_freq=2"],
    ...own,
  ];
  const steady = join(parent, `steady-${world}`);
  const quiet = startRun(settings(steady));
  expect(await quiet.ended, quiet.lines.join("\n")).toBe(0);

  const run = join(parent, `jumping-${world}`);
  let second: unknown;
  const jumping = startScript(here("jumping-run.ts"), settings(run), (line) => {
    if (line !== "at 1") return;
    try {
      takeLock(run).release();
    } catch (error) {
      second = error;
    }
  });
  expect(await jumping.ended, jumping.lines.join("\n")).toBe(0);
  expect(jumping.lines.at(-1)).toMatch(/the date jumped [1-9]\d* times/);
  expect(second).toBeInstanceOf(FolderBusyError);
  expect(isHeld(run)).toBe(false);

  expect(resultsOf(run, ITERATIONS)).toEqual(resultsOf(steady, ITERATIONS));
  const durations = [
    ...readMetrics(join(run, "metrics.jsonl")).flatMap(({ metrics }) =>
      Object.entries(metrics).filter(([name]) => isTiming(name) && name.startsWith("timing_s/")),
    ),
    ...[...readTrajectories(join(run, "trajectories"))].map(({ id, seconds }) => [id, seconds]),
    ["minutes", minutesOf(run)],
  ] as const;
  expect(durations.length).toBeGreaterThan(20);
  const wrong = durations.filter(([, value]) => !(Number(value) >= 0 && Number(value) < 3600));
  expect(wrong).toEqual([]);
});

function minutesOf(run: string): number {
  const file = join(run, "checkpoints", `step-00000${ITERATIONS}`, "state.json");
  return (JSON.parse(readFileSync(file, "utf8")) as { minutes: number }).minutes;
}
