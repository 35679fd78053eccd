/**
 * @file `npm run bench -- <name> [--json]`: what we measure. Each benchmark is a file of its own.
 */

/** What a benchmark's file exports. */
export interface Benchmark {
  /** Measures, and returns the figures; prints progress to standard error only. */
  run(): Promise<object> | object;
  /** The figures for people. */
  report(figures: object): string;
}

const BENCHMARKS: Record<string, () => Promise<Benchmark>> = {
  algorithms: async () => (await import("./algorithms.ts")).algorithms,
  engine: async () => (await import("./engine.ts")).engine,
  models: async () => (await import("./models.ts")).models,
  environments: async () => (await import("./environments.ts")).environments,
  train: async () => (await import("./train.ts")).train,
  rollout: async () => (await import("./rollout.ts")).rollout,
};

const [name, ...words] = process.argv.slice(2);
const load = name !== undefined && Object.hasOwn(BENCHMARKS, name) ? BENCHMARKS[name] : undefined;
const json = words.includes("--json");
if (!load || words.some((word) => word !== "--json")) {
  console.error(
    `Usage: npm run bench -- <name> [--json]\nBenchmarks: ${Object.keys(BENCHMARKS).join(", ")}`,
  );
  process.exitCode = 2;
} else {
  const benchmark = await load();
  const figures = await benchmark.run();
  console.log(json ? JSON.stringify(figures, null, 2) : benchmark.report(figures));
}
