/**
 * @file `trainer.launcher=ray`: the ranks run on a Ray cluster. A small driver (templates/ray/driver.py) places all of
 * them or none, starts them again when one is lost, and shows rank 0's output. Outside of the cluster it is submitted
 * as a job, whose log is shown here; inside of a job (ray job submit, KubeRay's RayJob) it is started directly.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Settings } from "../../config/index.ts";
import { INTERRUPTED, interruptible } from "../support/interrupt.ts";
import { print, printError } from "../support/print.ts";
import { type RayJob, type RayJobs, rayJobs } from "./api.ts";

const DRIVER = fileURLToPath(new URL("../../../templates/ray/driver.py", import.meta.url));
const COMMAND = fileURLToPath(new URL("../../../bin/openmanus-rl.mjs", import.meta.url));

/** What the driver follows. */
interface RayPlan {
  readonly words: readonly string[];
  readonly folder: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly nodes: number;
  readonly ranksPerNode: number;
  readonly gpu: boolean;
  readonly maxFailures: number;
}

/** Seconds that a job has to finish its iteration and save when it is stopped; Ray's own default is 3. */
const STOP_SECONDS = 3600;
/** How often a dashboard is asked that does not answer. */
const TRIES = 8;
/** Between two looks at the job. */
const LOOK_MILLISECONDS = 700;

export async function onRay(words: readonly string[], { trainer = {} }: Settings): Promise<number> {
  const plan: RayPlan = {
    words: [process.execPath, COMMAND, ...words],
    folder: process.cwd(),
    variables: Object.fromEntries(
      Object.entries(process.env).flatMap(([name, value]) =>
        name.startsWith("OPENMANUS_") && value !== undefined ? [[name, value]] : [],
      ),
    ),
    nodes: trainer.nnodes ?? 1,
    ranksPerNode: Math.max(1, trainer.n_gpus_per_node ?? 1),
    gpu: (trainer.device ?? "cpu") !== "cpu",
    maxFailures: trainer.max_failures ?? 3,
  };
  return isInsideJob() ? driveHere(plan) : submitted(plan, trainer);
}

/** Ray's job supervisor says so to what it starts. */
function isInsideJob(): boolean {
  return process.env.RAY_JOB_CONFIG_JSON_ENV_VAR !== undefined;
}

async function driveHere(plan: RayPlan): Promise<number> {
  const child = spawn(process.env.OPENMANUS_PYTHON ?? "python", [DRIVER], {
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, OPENMANUS_RAY_PLAN: JSON.stringify(plan) },
  });
  return interruptible(
    (signal) =>
      new Promise<number>((resolve) => {
        signal.addEventListener("abort", () => child.kill("SIGTERM"), { once: true });
        child.on("error", ({ message }) => {
          printError(`openmanus-rl: Python with Ray cannot be started here: ${message}`);
          resolve(1);
        });
        child.on("exit", (code) => resolve(code ?? 1));
      }),
  );
}

async function submitted(
  plan: RayPlan,
  { ray_address, experiment_name }: NonNullable<Settings["trainer"]>,
): Promise<number> {
  const jobs = rayJobs(ray_address);
  const run = (experiment_name ?? "run").replace(/[^\w.-]+/g, "-");
  const name = `openmanus-rl-${run}-${randomBytes(3).toString("hex")}`;
  await jobs.submit({
    submission_id: name,
    // The driver travels with the job: nothing has to be uploaded.
    entrypoint:
      `"\${OPENMANUS_PYTHON:-python}" -c "import base64, os; exec(compile(base64.b64decode(` +
      `os.environ.pop('OPENMANUS_RAY_DRIVER')), 'driver.py', 'exec'))"`,
    runtime_env: {
      env_vars: {
        OPENMANUS_RAY_DRIVER: readFileSync(DRIVER).toString("base64"),
        OPENMANUS_RAY_PLAN: JSON.stringify(plan),
        RAY_JOB_STOP_WAIT_TIME_S: String(STOP_SECONDS),
      },
    },
    metadata: { "openmanus-rl": run },
  });
  printError(`ray job ${name} at ${jobs.address}; openmanus-rl ray stop ${name} ends it`);
  return interruptible((signal) => followJob(jobs, name, signal));
}

/** Shows a job's log until its end. A first interrupt stops it, and waits; gives its exit code. */
export async function followJob(
  jobs: RayJobs,
  name: string,
  signal?: AbortSignal,
): Promise<number> {
  let shown = 0;
  let hasStopped = false;
  const show = async () => {
    // Whole lines: the rest of the last one is on its way.
    const log = (await jobs.log(name)) ?? "";
    const end = log.lastIndexOf("\n");
    if (end < shown) return;
    print(log.slice(shown, end));
    shown = end + 1;
  };
  while (true) {
    if (signal?.aborted && !hasStopped) {
      hasStopped = true;
      printError("finishing the iteration, then saving; then the job ends");
      await jobs.stop(name);
    }
    const job = await patiently(async () => {
      const found = await jobs.find(name);
      await show();
      return found;
    });
    if (job.status !== "PENDING" && job.status !== "RUNNING") return codeOf(job, hasStopped);
    await wait(LOOK_MILLISECONDS, undefined, { signal: hasStopped ? undefined : signal }).catch(
      () => {},
    );
  }
}

/** A dashboard that has much to do does not answer at times: the ranks go on all the same. */
async function patiently<Value>(ask: () => Promise<Value>): Promise<Value> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      if (tries === TRIES) throw error;
      await wait(tries * 1000);
    }
  }
}

function codeOf({ status, message, driver_exit_code: code }: RayJob, hasStopped: boolean): number {
  if (status === "SUCCEEDED") return 0;
  if (status === "STOPPED" || hasStopped || code === INTERRUPTED) return INTERRUPTED;
  if (message) printError(`ray: ${message}`);
  return code || 1;
}
