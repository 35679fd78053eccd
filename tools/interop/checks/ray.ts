/**
 * @file `trainer.launcher=ray` on a Ray cluster of two machines: one stock command; a machine that is taken away and
 * brought back; a launcher that is killed, and the command that ends what it left.
 */
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Finding, InteropCheck } from "../check.ts";
import {
  COMMAND,
  logged,
  ranksOf,
  runDifference,
  tinyModel,
  trainWords,
  undisturbed,
  until,
} from "../ranks.ts";
import { DASHBOARD, leftBehind, type RayCluster, rayCluster } from "../ray.ts";

const ITERATIONS = 20;
/** Seconds until the loss of a machine ends the rank on the other. */
const NOTICED = 30;

const check: InteropCheck = {
  name: "ray",
  async run(peers, folder): Promise<Finding[]> {
    const cluster = await rayCluster(peers, folder);
    if (!cluster)
      return [{ what: "two machines", detail: "skipped: no network namespaces (root, iproute2)" }];
    try {
      const model = await tinyModel(folder);
      const expected = join(folder, "expected");
      await undisturbed(model, expected, ITERATIONS, 2);
      return [
        await machineLost(cluster, folder, model, expected),
        await interrupted(cluster, folder, model),
        await launcherKilled(cluster, folder, model),
        await insideJob(cluster, folder, model, expected),
      ];
    } finally {
      await cluster.close();
    }
  },
};

const ON_RAY = [
  ...["trainer.launcher=ray", "trainer.nnodes=2", "trainer.n_gpus_per_node=1"],
  ...[`trainer.ray_address=${DASHBOARD}`, "trainer.max_failures=8"],
];

async function machineLost(
  cluster: RayCluster,
  folder: string,
  model: string,
  expected: string,
): Promise<Finding> {
  const run = join(folder, "run");
  const group = cluster.start([process.execPath, ...trainWords(model, run, ITERATIONS), ...ON_RAY]);
  await until(() => logged(run) > 1 && ranksOf(run).size === 2, "an iteration", 180, group);
  const before = [...ranksOf(run).values()];
  const since = performance.now();
  cluster.takeAway();
  // The rank on the machine that is gone lives on in its namespace: the other one has to go.
  await until(
    () => [...ranksOf(run).values()].filter((pid) => before.includes(pid)).length < 2,
    "the end of the rank that is left",
    90,
    group,
  );
  const seconds = (performance.now() - since) / 1000;
  await cluster.bringBack();
  const code = await Promise.race([group.ended, wait(240_000, "late")]);
  const problem =
    code !== 0
      ? `it ended with ${code}:\n${group.output().slice(-3000)}`
      : seconds > NOTICED
        ? `noticed after ${seconds.toFixed(1)} s`
        : runDifference(run, expected, ITERATIONS);
  if (problem) group.child.kill("SIGKILL");
  return {
    what: "a machine is taken away and brought back",
    detail: `bitwise, noticed after ${seconds.toFixed(1)} s`,
    problem,
  };
}

/** Ctrl-C finishes the iteration, saves, and leaves nothing. */
async function interrupted(cluster: RayCluster, folder: string, model: string): Promise<Finding> {
  const run = join(folder, "interrupted");
  const group = cluster.start([process.execPath, ...trainWords(model, run, 9999), ...ON_RAY]);
  await until(() => logged(run) > 1, "an iteration", 180, group);
  group.child.kill("SIGINT");
  const code = await Promise.race([group.ended, wait(60_000, "late")]);
  await wait(1000);
  const left = ranksOf(run).size + leftBehind();
  return {
    what: "Ctrl-C",
    detail: "exit code 130, none is left",
    problem:
      code !== 130
        ? `it ended with ${code}:\n${group.output().slice(-2000)}`
        : left > 0
          ? `${left} processes are left`
          : undefined,
  };
}

/** `ray job submit -- openmanus-rl train … trainer.launcher=ray`, as a KubeRay RayJob does. */
async function insideJob(
  cluster: RayCluster,
  folder: string,
  model: string,
  expected: string,
): Promise<Finding> {
  const run = join(folder, "inside");
  const job = cluster.start([
    ...["ray", "job", "submit", "--address", DASHBOARD, "--", process.execPath],
    ...[...trainWords(model, run, ITERATIONS), ...ON_RAY],
  ]);
  const code = await Promise.race([job.ended, wait(180_000, "late")]);
  return {
    what: "inside of ray job submit",
    detail: "bitwise our launcher's",
    problem:
      code === 0
        ? runDifference(run, expected, ITERATIONS)
        : `it ended with ${code}:\n${job.output().slice(-3000)}`,
  };
}

async function launcherKilled(
  cluster: RayCluster,
  folder: string,
  model: string,
): Promise<Finding> {
  const run = join(folder, "left");
  const group = cluster.start([process.execPath, ...trainWords(model, run, 9999), ...ON_RAY]);
  await until(() => logged(run) > 1, "an iteration", 180, group);
  const [, name = ""] = /ray job (\S+)/.exec(group.output()) ?? [];
  group.child.kill("SIGKILL");
  await group.ended;
  const words = [process.execPath, COMMAND, "ray", "stop", name, "--address", DASHBOARD];
  const stop = cluster.start(words);
  const code = await Promise.race([stop.ended, wait(60_000, "late")]);
  await wait(1000);
  const left = ranksOf(run).size + leftBehind();
  return {
    what: "a killed launcher's ranks, stopped by name",
    detail: "none is left",
    problem:
      code !== 0
        ? `ray stop ended with ${code}:\n${stop.output()}`
        : left > 0
          ? `${left} processes are left`
          : undefined,
  };
}

export default check;
