/**
 * @file A real MLflow server takes a run from our logger, also one that is killed and resumed, and gives back
 * what was logged.
 */
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { openMlflow } from "../../../src/monitoring/index.ts";
import type { Finding, InteropCheck } from "../check.ts";
import type { PeerProcess, Peers } from "../peers.ts";

interface ReadRun {
  readonly name: string;
  readonly status: string;
  readonly params: Readonly<Record<string, string>>;
  readonly tags: Readonly<Record<string, string>>;
  readonly metrics: Readonly<Record<string, readonly [step: number, value: string][]>>;
}

/** Odd numbers at some steps, and more names than one request may hold. */
function metricsOf(step: number): Record<string, number> {
  if (step === 7) return { "actor/pg_loss": Number.NaN, "actor/kl": Number.NEGATIVE_INFINITY };
  const many = Array.from({ length: 1200 }, (_, i) => [`many/${i}`, i / 8] as const);
  return {
    "actor/pg_loss": step / 3,
    "perf/max memory (GB)": 1e-30 * step,
    ...(step === 3 && Object.fromEntries(many)),
  };
}

const STEPS = 20;

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Resolves when it answers. */
async function startServer(peers: Peers, folder: string): Promise<[PeerProcess, string]> {
  const port = await freePort();
  const server = peers.start(
    [
      ...["mlflow", "server", "--host", "127.0.0.1", "--port", String(port), "--workers", "1"],
      ...["--backend-store-uri", `sqlite:///${join(folder, "mlflow.db")}`],
      ...["--artifacts-destination", join(folder, "artifacts")],
    ],
    { MLFLOW_SERVER_ENABLE_JOB_EXECUTION: "false" },
  );
  const url = `http://127.0.0.1:${port}`;
  for (const end = Date.now() + 120_000; Date.now() < end && !server.hasEnded(); ) {
    const isUp = await fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) return [server, url];
    await wait(250);
  }
  await server.stop();
  throw new Error(`the server does not come up:\n${server.output().slice(-2000)}`);
}

async function logRun(url: string, folder: string): Promise<string[]> {
  const said: string[] = [];
  const open = () =>
    openMlflow({
      ...{ trackingUri: url, experiment: "interop: größe", run: "killed and resumed" },
      params: { "algorithm.adv_estimator": "gigpo", sizes: [1, 2], text: "ä".repeat(300) },
      tags: { world: "household" },
      runFile: join(folder, "mlflow.json"),
      variables: {},
      say: (sentence) => void said.push(sentence),
    });
  const first = open();
  for (let step = 1; step <= 12; step++) first.log(step, metricsOf(step));
  await first.flush();
  // As if it had been killed; its checkpoint is of step 8.
  const second = open();
  for (let step = 9; step <= STEPS; step++) second.log(step, metricsOf(step));
  second.close();
  await second.flush();
  return said;
}

function problemsOf(runs: readonly ReadRun[]): string[] {
  const [run] = runs;
  if (!run || runs.length !== 1) return [`${runs.length} runs, expected one`];
  const problems: string[] = [];
  if (run.name !== "killed and resumed") problems.push(`its name is ${run.name}`);
  if (run.status !== "FINISHED") problems.push(`its status is ${run.status}`);
  if (run.tags.world !== "household") problems.push(`its tag is ${run.tags.world}`);
  const params = JSON.stringify(run.params, Object.keys(run.params).sort());
  const expected = { "algorithm.adv_estimator": "gigpo", sizes: "[1,2]", text: "ä".repeat(300) };
  if (params !== JSON.stringify(expected)) problems.push(`its params are ${params}`);
  for (let step = 1; step <= STEPS; step++)
    for (const [name, value] of Object.entries(metricsOf(step))) {
      const found = run.metrics[name.replace(/[()]/g, "_")]?.filter(([at]) => at === step) ?? [];
      const [, text] = found[0] ?? [];
      if (found.length !== 1 || !isSame(text!, value))
        problems.push(`${name} at step ${step} is ${JSON.stringify(found)}, expected ${value}`);
    }
  return problems;
}

/** Python writes nan and inf. MLflow's databases know no infinity: they have the largest number instead. */
function isSame(text: string, value: number): boolean {
  if (Number.isNaN(value)) return text === "nan";
  if (!Number.isFinite(value))
    return text === (value > 0 ? "inf" : "-inf") || Math.abs(Number(text)) === Number.MAX_VALUE;
  return Number(text) === value;
}

const check: InteropCheck = {
  name: "mlflow",
  async run(peers, folder): Promise<Finding[]> {
    const [server, url] = await startServer(peers, folder);
    try {
      const said = await logRun(url, folder);
      const request = { server: url, experiment: "interop: größe" };
      const runs = await peers.ask<ReadRun[]>("mlflow_reads.py", folder, request);
      const problems = [...said, ...problemsOf(runs)];
      const count = Object.values(runs[0]?.metrics ?? {}).flat().length;
      return [
        {
          what: "a server has a run that was resumed once",
          detail: `${count} values, ${Object.keys(runs[0]?.params ?? {}).length} params`,
          problem: problems.slice(0, 5).join("\n") || undefined,
        },
      ];
    } finally {
      await server.stop();
    }
  },
};

export default check;
