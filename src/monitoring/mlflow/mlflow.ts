/**
 * @file Metrics to an MLflow server, in the background: a server that is slow, away or broken costs its
 * curves and never the training.
 *
 * Steps wait in a queue of limited length and are sent in batches, again and again while nobody answers.
 * What was sent twice is there once, because the time of a step is part of it. A run that is resumed goes on
 * with the same MLflow run: steps that the server has are left out, so that it does no harm to log them again.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { MetricsLogger, RunEnd } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import { mlflowAddress } from "./address.ts";
import { MlflowError, MOST_METRICS, mlflowClient } from "./client.ts";
import { metricsOf, paramsOf, tagsOf } from "./names.ts";
import { stepQueue } from "./queue.ts";
import { readRunFile, type StoredRun, writeRunFile } from "./run-file.ts";

export interface MlflowOptions {
  /** Default: MLFLOW_TRACKING_URI. */
  readonly trackingUri?: string | undefined;
  /** The experiment's name; it is made where there is none. */
  readonly experiment: string;
  /** The run's name. Default: MLflow makes one up. */
  readonly run?: string | undefined;
  /** Settings of the run, which MLflow shows beside it. Leave secrets out. */
  readonly params?: Readonly<Record<string, unknown>>;
  readonly tags?: Readonly<Record<string, string>>;
  /** Where the id of the MLflow run is kept; a run that is resumed must find it there. */
  readonly runFile: string;
  /** Is told once that the server is away, and at the end how many steps it has not got. */
  readonly say?: (sentence: string) => void;
  /** Steps that wait at most; the oldest go first. Default 1000. */
  readonly queueSteps?: number;
  /** For one request. Default 30. */
  readonly requestSeconds?: number;
  /** For all that is left when it is closed or flushed. Default 15. */
  readonly closeSeconds?: number;
  /** Before the first repetition; doubled each time, up to 60 s. Default 1. */
  readonly retrySeconds?: number;
  /** Default: process.env. */
  readonly variables?: Readonly<Record<string, string | undefined>>;
  /** Milliseconds since 1970. Default: the clock's. */
  readonly now?: () => number;
}

export interface MlflowLogger extends MetricsLogger {
  /** As what the run ends when it is closed. Default: finished. */
  endAs(status: RunEnd): void;
  /** Everything that was logged has been sent, or was given up; after close() the run's end, too. */
  flush(): Promise<void>;
}

/** The longest pause between two tries, and the longest while somebody waits. Milliseconds. */
const LONGEST_PAUSE = 60_000;
const LONGEST_HASTY_PAUSE = 250;

/** Throws where the settings are wrong; a server that is away is no reason. */
export function openMlflow(options: MlflowOptions): MlflowLogger {
  const { queueSteps: room = 1000, retrySeconds = 1, closeSeconds = 15, now = Date.now } = options;
  const address = mlflowAddress(options.trackingUri, options.variables ?? process.env);
  const stopping = new AbortController();
  const client = mlflowClient({
    address,
    seconds: options.requestSeconds ?? 30,
    signal: stopping.signal,
    now,
  });

  const queue = stepQueue(room);
  let run: { id: string; lastStep: number } | undefined;
  /** Steps that the server took for wrong. */
  let rejected = 0;
  let status = "FINISHED";
  let isClosed = false;
  /** Nothing more is sent: everything was, or the server refuses. */
  let isOver = false;
  let working: Promise<void> | undefined;
  let ending: Promise<void> | undefined;
  /** Aborted when somebody waits: pauses are cut short. */
  let haste = new AbortController();
  const said = new Set<string>();

  /** Each kind of sentence once. */
  function say(kind: "away" | "rejected" | "refused" | "end", sentence: string): void {
    if (said.has(kind)) return;
    said.add(kind);
    options.say?.(`MLflow at ${address.url}: ${sentence}`);
  }

  /** The run of before, or a new one. */
  async function begin(): Promise<{ id: string; lastStep: number }> {
    const before = readRunFile(options.runFile);
    const found = before?.url === address.url ? await client.findRun(before.run) : undefined;
    let stored: StoredRun;
    if (before && found) {
      stored = before;
      await client.updateRun(before.run, "RUNNING");
    } else {
      const experiment = await client.experimentId(options.experiment);
      const id = await client.createRun(experiment, options.run, tagsOf(options.tags ?? {}));
      stored = { url: address.url, experiment, run: id, hasParams: false };
      writeRunFile(options.runFile, stored);
    }
    if (!stored.hasParams) {
      await client.logParams(stored.run, paramsOf(options.params ?? {})).catch(unlessRejected);
      writeRunFile(options.runFile, { ...stored, hasParams: true });
    }
    return { id: stored.run, lastStep: found?.lastStep ?? -1 };
  }

  /** Params that the server finds wrong are no reason to have no curves. */
  function unlessRejected(error: unknown): void {
    if (!(error instanceof MlflowError && error.failure === "rejected")) throw error;
    say("rejected", `it does not take some of what is sent: ${error.message}.`);
  }

  async function sendSome(id: string, lastStep: number): Promise<void> {
    const taken = queue.take();
    const batch = taken.filter(({ step }) => step > lastStep).flatMap(({ metrics }) => metrics);
    try {
      // A step may be larger than a request.
      for (let i = 0; i < batch.length; i += MOST_METRICS)
        await client.logMetrics(id, batch.slice(i, i + MOST_METRICS));
    } catch (error) {
      if (isAway(error)) queue.putBack(taken);
      unlessRejected(error);
      rejected += taken.length;
    }
  }

  /** Sends until nothing is left. Never rejects. */
  async function work(): Promise<void> {
    for (let failures = 0; !isOver && !stopping.signal.aborted; ) {
      try {
        run ??= await begin();
        if (queue.length > 0) await sendSome(run.id, run.lastStep);
        else if (!isClosed) return;
        else {
          await client.updateRun(run.id, status, now());
          isOver = true;
        }
        failures = 0;
      } catch (error) {
        const { message } = error as Error;
        if (isAway(error)) {
          if (stopping.signal.aborted) return;
          say("away", `no answer (${message}). The run goes on; steps are sent when it is back.`);
          await pause(retrySeconds * 1000 * 2 ** Math.min(failures++, 20));
        } else {
          // A server that refuses, a file that cannot be written: no use in trying again.
          isOver = true;
          say("refused", `${message}. Nothing more is sent there.`);
        }
      }
    }
  }

  /** Does not keep the process, unless somebody waits. */
  async function pause(milliseconds: number): Promise<void> {
    const { signal } = haste;
    const long = Math.min(milliseconds, LONGEST_PAUSE);
    await wait(long, undefined, { ref: false, signal }).catch(() => {});
    if (signal.aborted) await wait(Math.min(long, LONGEST_HASTY_PAUSE));
  }

  function kick(): void {
    if (working || isOver || stopping.signal.aborted) return;
    working = work().finally(() => {
      working = undefined;
      // What was logged while the last answer was on its way.
      if (queue.length > 0 || isClosed) kick();
    });
  }

  /** Waits until all is sent, at most `closeSeconds`. */
  async function drained(): Promise<void> {
    const limit = new AbortController();
    const { signal } = limit;
    const over = wait(closeSeconds * 1000, true, { signal }).catch(() => true);
    haste.abort();
    while (working && !(await Promise.race([working, over])));
    limit.abort();
    haste = new AbortController();
  }

  async function end(): Promise<void> {
    await drained();
    stopping.abort(new Error("the time was over"));
    if (said.has("refused")) return;
    const missing = queue.length + queue.dropped + rejected;
    if (missing > 0) say("end", `${missing} steps were not sent; the run's own metrics have them.`);
    else if (!isOver) say("end", "it could not be told that the run has ended.");
  }

  kick();
  return {
    log(step: number, metrics: Metrics) {
      if (isClosed || isOver) return;
      queue.add({ step, metrics: metricsOf(step, metrics, now()) });
      kick();
    },
    endAs(wanted) {
      status = wanted.toUpperCase();
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      kick();
      ending = end();
    },
    flush: () => ending ?? drained(),
  };
}

function isAway(error: unknown): boolean {
  return error instanceof MlflowError && error.failure === "away";
}
