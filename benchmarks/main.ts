/**
 * @file `npm run bench -- <name> [--json] [options]`: what we measure. Each benchmark is a file of its own.
 */

import { ArgumentError } from "./arguments.ts";

/** What a benchmark's file exports. */
export interface Benchmark {
  /** The options that it takes besides --json, for people. Without it, it takes none. */
  readonly usage?: string;
  /** Measures, and returns the figures; prints progress to standard error only. */
  run(words: readonly string[]): Promise<object> | object;
  /** The figures for people. */
  report(figures: object): string;
}

const BENCHMARKS: Record<string, () => Promise<Benchmark>> = {
  algorithms: async () => (await import("./algorithms.ts")).algorithms,
  engine: async () => (await import("./engine.ts")).engine,
  models: async () => (await import("./models.ts")).models,
  peers: async () => (await import("./peers/peers.ts")).peers,
  environments: async () => (await import("./environments.ts")).environments,
  worlds: async () => (await import("./worlds/worlds.ts")).worlds,
  train: async () => (await import("./train.ts")).train,
  update: async () => (await import("./update.ts")).update,
  speculation: async () => (await import("./speculation.ts")).speculation,
  dtypes: async () => (await import("./dtypes.ts")).dtypes,
  dashboard: async () => (await import("./dashboard/dashboard.ts")).dashboard,
  rollout: async () => (await import("./rollout.ts")).rollout,
  replay: async () => (await import("./replay.ts")).replay,
  search: async () => (await import("./search.ts")).search,
  gateway: async () => (await import("./gateway/gateway.ts")).gateway,
  sharding: async () => (await import("./sharding.ts")).sharding,
  alarms: async () => (await import("./alarms/alarms.ts")).alarms,
};

const [name, ...given] = process.argv.slice(2);
const words = given.filter((word) => word !== "--json");
const load = name !== undefined && Object.hasOwn(BENCHMARKS, name) ? BENCHMARKS[name] : undefined;
const benchmark = await load?.();

/** Ends with how it is called. */
function misused(problem?: string): void {
  if (problem !== undefined) console.error(problem);
  const usage = benchmark?.usage;
  console.error(
    usage === undefined
      ? `Usage: npm run bench -- <name> [--json]\nBenchmarks: ${Object.keys(BENCHMARKS).join(", ")}`
      : `Usage: npm run bench -- ${name} [--json] [options]\n${usage}`,
  );
  process.exitCode = 2;
}

if (!benchmark || (words.length > 0 && benchmark.usage === undefined)) misused();
else
  try {
    const figures = await benchmark.run(words);
    const isJson = given.includes("--json");
    console.log(isJson ? JSON.stringify(figures, null, 2) : benchmark.report(figures));
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error;
    misused(error.message);
  }
