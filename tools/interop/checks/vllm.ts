/**
 * @file vLLM on the CPU as the engine of a training: a policy learns to find its way through a maze as with our own
 * engine, also where two processes have half of every layer (tensor parallel), the weights that vLLM plays with are ours
 * after every update, a server that is killed is started again, and one that does not take the weights stops the run.
 *
 * vLLM is 2 GB to fetch: where its environment is not there already, OPENMANUS_INTEROP_VLLM=1 makes it.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { hasEnvironment, NoEnvironment, pythonOf } from "../../../benchmarks/peers/environments.ts";
import type { Metrics } from "../../../src/algorithms/index.ts";
import { fisherAtMost } from "../../../src/evaluation/index.ts";
import { serveCommand, serveVariables } from "../../../src/generation/vllm/command.ts";
import { loadModel } from "../../../src/models/index.ts";
import { readMetrics } from "../../../src/monitoring/index.ts";
import { exchange, openServer } from "../../../src/network/index.ts";
import { startGuarded } from "../../../src/processes/index.ts";
import { weightsPlace } from "../../../src/training/served/weights.ts";
import { vllmOptions } from "../../../tests/generation/vllm/support.ts";
import { mazeConfig, warmWalker } from "../../../tests/training/support/maze.ts";
import { trainConfig } from "../../../tests/training/support/runs.ts";
import type { Finding, InteropCheck } from "../check.ts";

const ITERATIONS = 10;
/** The iteration in which the server is killed. */
const KILLED = 4;
/** Validation: 25 tasks, each so many times. Machines round otherwise, so runs differ: it takes many to compare them. */
const PLAYED = { tasks: 25, times: 16 };
/** Below this, a difference of two success rates is none of chance's making. */
const BY_CHANCE = 0.01;
/** What vLLM computes heads of, and tensor parallel can halve. */
const SIZES = { heads: 2, keyValueHeads: 2, headDimension: 32 };

const check: InteropCheck = {
  name: "vllm",
  async run(_, folder) {
    const executable = vllmOf();
    if (typeof executable !== "string") return [executable];
    const warm = await warmWalker(folder, SIZES);
    const play = (name: string, own: readonly string[], onIteration?: (one: number) => void) =>
      trained(warm, join(folder, name), own, onIteration);
    const vllm = [
      "actor_rollout_ref.rollout.name=vllm",
      `actor_rollout_ref.rollout.vllm.executable=${executable}`,
      "actor_rollout_ref.rollout.max_num_seqs=64",
      "algorithm.rollout_correction.rollout_is=token",
    ];
    const ours = await play("ours", [`trainer.total_epochs=${ITERATIONS}`]);
    let killed: number | undefined;
    const theirs = await play(
      "theirs",
      [...vllm, `trainer.total_epochs=${ITERATIONS}`],
      (iteration) => {
        if (iteration === KILLED - 1) setTimeout(() => (killed = killServer()), 1500);
      },
    );
    const split = await play("split", [
      ...[...vllm, "actor_rollout_ref.rollout.tensor_model_parallel_size=2"],
      `trainer.total_epochs=${ITERATIONS}`,
    ]);
    return [
      ...learning(`GRPO, ${ITERATIONS} iterations, success`, theirs, ours),
      {
        what: "… |Δ log p| of what was played",
        ...within(theirs.metrics, "training/rollout_logprob_diff_max", ITERATIONS),
      },
      {
        what: `… server killed in iteration ${KILLED}`,
        detail: `started again ${theirs.metrics.at(-1)!["rollout_sync/restarts"]} times, no episode lost`,
        problem: deathProblem(killed, theirs.metrics),
      },
      ...learning("tensor parallel 2, success", split, ours),
      await adapterAlone(play, vllm),
      ...(await ofOthers(play, executable, warm)),
    ];
  },
};

/** The program, or why there is none. */
function vllmOf(): string | Finding {
  const skippedFor = (why: string): Finding => ({
    ...{ what: "vLLM plays for a training", detail: why, skipped: true },
  });
  if (!hasEnvironment("vllm") && process.env.OPENMANUS_INTEROP_VLLM !== "1")
    return skippedFor("there is no vLLM yet; OPENMANUS_INTEROP_VLLM=1 fetches it (2 GB)");
  try {
    const python = pythonOf("vllm", (text) => console.log(`interop: ${text}`));
    return join(python, "..", "vllm");
  } catch (error) {
    if (!(error instanceof NoEnvironment)) throw error;
    return skippedFor(error.message);
  }
}

interface Trained {
  /** The share of validation episodes that were won, before and after. */
  readonly before: number;
  readonly after: number;
  readonly metrics: readonly Metrics[];
}

async function trained(
  warm: string,
  run: string,
  own: readonly string[],
  onIteration?: (iteration: number) => void,
): Promise<Trained> {
  const rates: number[] = [];
  const config = mazeConfig(warm, run, [
    "algorithm.adv_estimator=grpo",
    // At the maze's own 1e-3 one seed in four unlearns what it could, with our engine, too: which one hangs on rounding.
    "actor_rollout_ref.actor.optim.lr=5e-4",
    `trainer.test_freq=${ITERATIONS}`,
    `actor_rollout_ref.rollout.val_kwargs.n=${PLAYED.times}`,
    ...own,
  ]);
  const said: string[] = [];
  await trainConfig({
    config,
    say: (text) => said.push(text),
    onValidation: (_, { successRate }) => rates.push(successRate!),
    ...(onIteration && { onIteration }),
  }).catch((error: Error) => {
    // What servers said before they ended is among it.
    error.message = [...said, error.message].join("\n");
    throw error;
  });
  const metrics = readMetrics(join(run, "metrics.jsonl")).filter(({ step }) => step > 0);
  return {
    before: rates[0]!,
    after: rates.at(-1)!,
    metrics: metrics.map((line) => line.metrics),
  };
}

function shown({ before, after }: Trained): string {
  return `${(100 * before).toFixed(0)} to ${(100 * after).toFixed(0)} %`;
}

function learning(what: string, theirs: Trained, ours: Trained): Finding[] {
  return [
    {
      what,
      detail: `${shown(theirs)}; with our engine ${shown(ours)}`,
      problem: learningProblem(theirs, ours),
    },
    {
      what: "… |Δ log p| of the probe after each sync",
      ...within(theirs.metrics, "rollout_sync/logprob_diff_max", ITERATIONS),
    },
  ];
}

/** It must rise, and as with our engine. */
function learningProblem(theirs: Trained, ours: Trained): string | undefined {
  const episodes = PLAYED.tasks * PLAYED.times;
  const isFewer = (few: number, other: number) => {
    const [one, two] = [few, other].map((rate) => ({ won: Math.round(rate * episodes), episodes }));
    return fisherAtMost(one!, two!) < BY_CHANCE;
  };
  if (!isFewer(theirs.before, theirs.after)) return "it did not rise by more than chance";
  return isFewer(theirs.after, ours.after) ? "it rose less than with our engine" : undefined;
}

function within(metrics: readonly Metrics[], name: string, count: number) {
  const values = metrics.map((one) => one[name] ?? Number.NaN);
  const largest = Math.max(...values);
  const isRight = values.length === count && largest < 1e-3;
  return {
    detail: `at most ${largest.toExponential(1)} in ${values.length} iterations`,
    problem: isRight ? undefined : `expected less than 1e-3 in ${count}: ${values.join(", ")}`,
  };
}

/** Kills the process that answers; gives its number. */
function killServer(): number | undefined {
  for (const name of readdirSync("/proc").filter((one) => /^\d+$/.test(one))) {
    try {
      const words = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
      const isOurs = words.some((word) => word.includes(`openmanus-rl-weights-${process.pid}-`));
      if (!isOurs || !/python/.test(words[0]!)) continue;
      process.kill(Number(name), "SIGKILL");
      return Number(name);
    } catch {
      // It ended at this very moment.
    }
  }
  return undefined;
}

function deathProblem(killed: number | undefined, metrics: readonly Metrics[]): string | undefined {
  if (killed === undefined) return "there was no server to kill";
  const restarts = metrics.at(-1)!["rollout_sync/restarts"];
  if (restarts !== 1) return `it was started again ${restarts} times, expected once`;
  const lost = metrics.findIndex((one) => one["training/left_out_episodes"] !== 0);
  return lost < 0 ? undefined : `iteration ${lost + 1} left episodes out`;
}

type Play = (
  name: string,
  own: readonly string[],
  onIteration?: (one: number) => void,
) => Promise<Trained>;

/** The base stays where it is, and every update is a small file. */
async function adapterAlone(play: Play, vllm: readonly string[]): Promise<Finding> {
  const { metrics } = await play("adapter", [
    ...[...vllm, "actor_rollout_ref.model.lora_rank=8", "trainer.total_epochs=3"],
    ...["actor_rollout_ref.rollout.vllm.lora=adapter", "actor_rollout_ref.actor.optim.lr=1e-2"],
    ...["trainer.val_before_train=False", "trainer.test_freq=-1"],
  ]);
  return {
    what: "an adapter alone after each update, |Δ log p|",
    ...within(metrics, "rollout_sync/logprob_diff_max", 3),
  };
}

/**
 * A server of two processes (tensor parallel) that the run has not started, behind a proxy that keeps back an order:
 * to take new weights.
 */
async function ofOthers(play: Play, executable: string, warm: string): Promise<Finding[]> {
  const model = loadModel(warm);
  const parent = dirname(warm);
  const place = weightsPlace(model, {
    ...{ asked: parent, runFolder: parent, dtype: "float32", tokenizerFolder: warm },
  });
  const options = vllmOptions(executable, { tensorParallel: 2, maximumSequences: 64 });
  const port = await freePort();
  const program = startGuarded({
    ...serveCommand(executable, place.write(model, 0), port, options),
    variables: serveVariables(options, 0),
  });
  model.dispose();
  let drops = false;
  const proxy = await openServer({
    answerSeconds: 600,
    handler: async (request) => {
      const { pathname, search } = new URL(request.url);
      if (drops && pathname === "/collective_rpc") return Response.json({ results: [null] });
      const body = request.method === "POST" ? await request.text() : undefined;
      try {
        return await exchange(
          {
            url: `http://127.0.0.1:${port}${pathname}${search}`,
            method: request.method,
            headers: { "content-type": "application/json" },
            ...(body !== undefined && { body }),
            signal: request.signal,
            limits: { time: 600_000, size: 2 ** 24 },
          },
          async (answer) => new Response(await answer.text(), { status: answer.status }),
        );
      } catch {
        // It is not there yet.
        return new Response("", { status: 503 });
      }
    },
  });
  try {
    const error = await play(
      "skipped",
      [
        "actor_rollout_ref.rollout.name=vllm",
        `actor_rollout_ref.rollout.vllm.urls=[${proxy.url}]`,
        ...["trainer.total_epochs=4", "trainer.val_before_train=False", "trainer.test_freq=-1"],
      ],
      (iteration) => {
        drops = iteration === 2;
      },
    ).then(
      () => new Error("the run went on"),
      (thrown: Error) => thrown,
    );
    const isRight = error.name === "WeightsError" && /weights of iteration 2/.test(error.message);
    const metrics = readMetrics(join(parent, "skipped", "metrics.jsonl"));
    return [
      {
        what: "a given server of two processes, |Δ log p|",
        ...within(
          metrics.map((line) => line.metrics),
          "rollout_sync/logprob_diff_max",
          2,
        ),
      },
      {
        what: "… a sync that it skips",
        detail: "stops the run",
        problem: isRight ? undefined : `${error.name}: ${error.message}\n${program.lastWords()}`,
      },
    ];
  } finally {
    await proxy.close();
    await program.stop();
    place.dispose();
  }
}

async function freePort(): Promise<number> {
  const server = await openServer({ handler: () => new Response() });
  await server.close();
  return server.port;
}

export default check;
