/**
 * @file `npm run soak -- --minutes N`: trains on and on in a world of which a fifth of the calls fail, with rewards that fail,
 * and with agent programs that ask the gateway and leak; the dashboard is open and read all the time. Writes down after every
 * round what the process holds, and says whether it stays.
 *
 *   --minutes N     default 30
 *   --folder DIR    where runs, samples (samples.json) and curves (*.svg) are kept. Default build/soak
 *   --seed S        default 1
 *   --interpreted   V8 makes bytecode of a function once, and nothing better of those that are called often. So code cannot
 *                   grow, and the heap has to be flat to the byte that somebody holds
 *   --snapshots N   a heap snapshot (round-N.heapsnapshot) after every N rounds, for compare.ts. It takes memory itself, so
 *                   look at RSS in a soak without. Default: none
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { setFlagsFromString, writeHeapSnapshot } from "node:v8";
import { serveDashboard } from "../../src/dashboard/index.ts";
import { train } from "../../src/library/index.ts";
import { curveSvg } from "../../src/monitoring/index.ts";
import { faultyWorld } from "./faulty.ts";
import { MEASURES, type Sample, sampleNow } from "./sample.ts";
import { trendOf } from "./trend.ts";
import { watchDashboard } from "./watch.ts";
import { fallibleReward, leakingProgram, lights } from "./worlds.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "30" },
    folder: { type: "string", default: join("build", "soak") },
    seed: { type: "string", default: "1" },
    snapshots: { type: "string", default: "0" },
    interpreted: { type: "boolean", default: false },
  },
});
const minutes = Number(values.minutes);
const seed = Number(values.seed);
const snapshots = Number(values.snapshots);
const { folder } = values;
const INTERPRETED = [
  ...["--no-opt", "--no-sparkplug", "--no-lazy-feedback-allocation", "--no-flush-bytecode"],
];
if (values.interpreted) for (const flag of INTERPRETED) setFlagsFromString(flag);
const REMOVE = { recursive: true, force: true };
rmSync(folder, REMOVE);
mkdirSync(folder, { recursive: true });

const injected: Record<string, number> = {};
const count = (fault: string) => {
  injected[fault] = (injected[fault] ?? 0) + 1;
};
const world = faultyWorld(lights, { seed, onFault: (fault, call) => count(`${call}: ${fault}`) });
const program = leakingProgram(count);
const { reward, close } = await fallibleReward(seed, count);
const runs = join(folder, "runs");
mkdirSync(runs);
const dashboard = await serveDashboard({ folders: [runs] });
const watching = new AbortController();
const watched = watchDashboard(dashboard.url, watching.signal);

/** Iterations of a round, in the world and with programs. */
const ITERATIONS = 4;
const PROGRAM_ITERATIONS = 2;
/** Rounds that go on with the same two runs. Then they are removed: what the dashboard knows of them must go, too. */
const ROUNDS_OF_RUN = 8;
const common = {
  tasks: 4,
  groupSize: 3,
  progress: false,
  say: () => {},
  algorithm: "grpo",
  validation: { every: 0 },
  settings: {
    env: { rollout: { step_seconds: 0.3, retries: 1 } },
    reward: { seconds: 0.5 },
    trainer: { threads: 1 },
  },
} as const;

/** A model that knows the form of answers, by the world without faults. */
const { model = "" } = await train({
  ...{ ...common, world: lights, folder: join(folder, "start"), iterations: 1 },
  ...{ model: { preset: "tiny", tasks: 20 }, agent: { replyTokens: 4, format: "action" } },
  warmStart: { episodes: 40, epochs: 2 },
});
const begun = performance.now();
const passed = () => (performance.now() - begun) / 60_000;
const samples: Sample[] = [];
for (let round = 1; passed() < minutes; round++) {
  const ofRun = ((round - 1) % ROUNDS_OF_RUN) + 1;
  if (ofRun === 1) for (const name of readdirSync(runs)) rmSync(join(runs, name), REMOVE);
  await train({
    ...{ ...common, model, world, folder: join(runs, "lights"), iterations: ITERATIONS * ofRun },
    ...{ rewards: [reward], agent: { replyTokens: 4, format: "action" }, warmStart: false },
  });
  await train({
    ...{ ...common, model, world: program, folder: join(runs, "programs") },
    ...{ iterations: PROGRAM_ITERATIONS * ofRun, agent: { replyTokens: 4 }, warmStart: false },
  });
  samples.push(sampleNow(passed()));
  writeFileSync(join(folder, "samples.json"), JSON.stringify({ samples, injected }));
  const last = samples.at(-1)!;
  const shown = MEASURES.map((name) => `${name} ${last[name].toFixed(1)}`).join(", ");
  console.log(`${last.minutes.toFixed(1)} min, round ${round}: ${shown}`);
  const isWanted = snapshots > 0 && round % snapshots === 0;
  if (isWanted) writeHeapSnapshot(join(folder, `round-${round}.heapsnapshot`));
}
watching.abort();
await watched;
await dashboard.close();
close();
summary();
process.exit();

function summary(): void {
  const iterations = samples.length * (ITERATIONS + PROGRAM_ITERATIONS);
  const faults = Object.values(injected).reduce((sum, times) => sum + times, 0);
  console.log(`\n${samples.length} rounds, ${iterations} iterations, ${faults} faults:`);
  for (const [name, times] of Object.entries(injected).sort()) console.log(`  ${name}: ${times}`);
  const hours = samples.map((sample) => sample.minutes / 60);
  let isFlat = true;
  console.log("\nmeasure       level   per hour (95 %)");
  for (const name of MEASURES) {
    const measured = samples.map((sample) => sample[name]);
    const trend = trendOf(hours, measured);
    isFlat &&= trend.isFlat;
    console.log(
      `${name.padEnd(9)} ${trend.level.toFixed(1).padStart(9)}   ${trend.slope.toFixed(1)} ± ${trend.margin.toFixed(1)}: ` +
        (trend.isFlat ? "flat" : "NOT FLAT"),
    );
    const points = samples.map((sample) => ({ x: sample.minutes, y: sample[name] }));
    writeFileSync(
      join(folder, `${name}.svg`),
      curveSvg({
        title: `${name} over a soak`,
        ...{ x: "minutes", y: name, series: [{ name, runs: [points] }] },
      }),
    );
  }
  console.log(isFlat ? "everything is flat" : "something grows");
  process.exitCode = isFlat ? 0 : 1;
}
