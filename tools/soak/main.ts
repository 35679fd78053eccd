/**
 * @file `npm run soak -- --minutes N`: trains on and on in a world of which a fifth of the calls fail, with rewards that fail,
 * and with agent programs that ask the gateway and leak; the dashboard is open and read all the time. Writes down after every
 * round what the process holds, and says whether it stays.
 *
 *   --minutes N     default 30
 *   --folder DIR    where runs, samples (samples.json) and curves (*.svg) are kept. Default build/soak
 *   --seed S        default 1
 *   --show          runs nothing: the table and the curves of what is in the folder
 *   --compile WHEN  usual; never: V8 makes bytecode of a function once, and nothing better when it is called often, so that code
 *                   cannot grow, and what does is data. Default: usual
 *   --snapshots N   a heap snapshot (round-N.heapsnapshot) after every N rounds, for compare.ts. It takes memory itself, so
 *                   look at RSS in a soak without. Default: none
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { setFlagsFromString, writeHeapSnapshot } from "node:v8";
import { serveDashboard } from "../../src/dashboard/index.ts";
import { train } from "../../src/library/index.ts";
import { faultyWorld } from "./faulty.ts";
import { MEASURES, type Sample, sampleNow } from "./sample.ts";
import { type Found, foundFile, summary } from "./summary.ts";
import { watchDashboard } from "./watch.ts";
import { fallibleReward, leakingProgram, lights } from "./worlds.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "30" },
    folder: { type: "string", default: join("build", "soak") },
    seed: { type: "string", default: "1" },
    snapshots: { type: "string", default: "0" },
    compile: { type: "string", default: "usual" },
    show: { type: "boolean", default: false },
  },
});
const minutes = Number(values.minutes);
const seed = Number(values.seed);
const snapshots = Number(values.snapshots);
const { folder } = values;
if (values.show) process.exit(summary(folder) ? 0 : 1);
const BYTECODE_ALONE = [
  ...["--no-opt", "--no-sparkplug", "--no-lazy-feedback-allocation", "--no-flush-bytecode"],
];
if (values.compile === "never") for (const flag of BYTECODE_ALONE) setFlagsFromString(flag);
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
  const iterations = round * (ITERATIONS + PROGRAM_ITERATIONS);
  const found: Found = { samples, injected, iterations, roundsOfRun: ROUNDS_OF_RUN };
  writeFileSync(foundFile(folder), JSON.stringify(found));
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
process.exit(summary(folder) ? 0 : 1);
