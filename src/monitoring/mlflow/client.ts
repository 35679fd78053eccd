/**
 * @file MLflow's REST API, as far as a run needs it: https://mlflow.org/docs/latest/rest-api.html
 */
import { ExchangeError, exchange, oneLine } from "../../network/index.ts";
import { withoutKey } from "../../spelling/index.ts";
import type { Address } from "./address.ts";

/**
 * What became of a request that failed.
 * - away: nobody answered, or the server is in trouble; it may be sent again, as every request here can be.
 * - refused: the server does not let us; nothing that we send will be taken.
 * - rejected: the server took it for wrong, and would again.
 */
export type Failure = "away" | "refused" | "rejected";

export class MlflowError extends Error {
  override name = "MlflowError";
  readonly failure: Failure;
  /** MLflow's own word for it (RESOURCE_DOES_NOT_EXIST), where it gave one. */
  readonly code: string | undefined;

  constructor(failure: Failure, message: string, code?: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.failure = failure;
    this.code = code;
  }
}

export interface KeyValue {
  readonly key: string;
  readonly value: string;
}

export interface LoggedMetric {
  readonly key: string;
  /** JSON has no other way to say NaN and infinity. */
  readonly value: number | "NaN" | "Infinity" | "-Infinity";
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  readonly step: number;
}

/** Bytes; a run with thousands of metrics has far fewer. */
const LARGEST_ANSWER = 16 * 1024 * 1024;

/** What one request may hold. */
export const MOST_METRICS = 1000;
export const MOST_PARAMS = 100;

export interface RunState {
  /** The last step of which the server has a metric. */
  readonly lastStep: number | undefined;
}

export interface MlflowClient {
  /** Of the experiment of that name, which is made where there is none. */
  experimentId(name: string): Promise<string>;
  createRun(
    experiment: string,
    name: string | undefined,
    tags: readonly KeyValue[],
  ): Promise<string>;
  /** Undefined where the server has no such run (any more). */
  findRun(run: string): Promise<RunState | undefined>;
  logMetrics(run: string, metrics: readonly LoggedMetric[]): Promise<void>;
  logParams(run: string, params: readonly KeyValue[]): Promise<void>;
  /** Without an end the run goes on. */
  updateRun(run: string, status: string, end?: number): Promise<void>;
}

interface ClientOptions {
  readonly address: Address;
  /** For one request. */
  readonly seconds: number;
  /** Ends everything that is under way. */
  readonly signal: AbortSignal;
  readonly now: () => number;
}

export function mlflowClient({ address, seconds, signal, now }: ClientOptions): MlflowClient {
  async function request(
    method: "GET" | "POST",
    path: string,
    content: Readonly<Record<string, unknown>>,
  ): Promise<Record<string, unknown>> {
    const url = new URL(`${address.url}/api/2.0/mlflow/${path}`);
    if (method === "GET")
      for (const [name, value] of Object.entries(content))
        url.searchParams.set(name, String(value));
    const headers = {
      ...(method === "POST" && { "content-type": "application/json" }),
      ...(address.authorization && { authorization: address.authorization }),
    };
    const limits = { time: seconds * 1000, size: LARGEST_ANSWER };
    const body = method === "POST" ? { body: JSON.stringify(content) } : {};
    try {
      return await exchange({ url, method, headers, ...body, signal, limits }, async (given) => {
        if (given.redirect !== null)
          throw new MlflowError(
            "refused",
            `it redirects to ${oneLine(given.redirect)}; set MLFLOW_TRACKING_URI to where it is`,
          );
        const answer = objectOf(await given.text());
        if (given.ok && answer) return answer;
        throw failureOf(given.status, answer, (text) => withoutSecrets(text, address));
      });
    } catch (error) {
      if (error instanceof MlflowError) throw error;
      if (error instanceof ExchangeError && error.kind === "large")
        throw new MlflowError("refused", `${error.message}; is it an MLflow server?`);
      throw new MlflowError("away", reasonOf(error), undefined, error);
    }
  }

  async function experimentByName(name: string): Promise<string> {
    const { experiment } = await request("GET", "experiments/get-by-name", {
      experiment_name: name,
    });
    const { experiment_id: id, lifecycle_stage: stage } = (experiment ?? {}) as Record<
      string,
      string
    >;
    if (stage === "deleted")
      throw new MlflowError("refused", `the experiment "${name}" was deleted; choose another name`);
    return required(id, "experiment_id");
  }

  return {
    async experimentId(name) {
      try {
        return await experimentByName(name);
      } catch (error) {
        if (!hasCode(error, "RESOURCE_DOES_NOT_EXIST")) throw error;
      }
      try {
        const { experiment_id: id } = await request("POST", "experiments/create", { name });
        return required(id, "experiment_id");
      } catch (error) {
        // Somebody else was quicker.
        if (!hasCode(error, "RESOURCE_ALREADY_EXISTS")) throw error;
        return experimentByName(name);
      }
    },
    async createRun(experiment, name, tags) {
      const { run } = await request("POST", "runs/create", {
        experiment_id: experiment,
        ...(name !== undefined && { run_name: name }),
        start_time: now(),
        tags,
      });
      const { info } = (run ?? {}) as { info?: Record<string, unknown> };
      return required(info?.run_id, "run_id");
    },
    async findRun(id) {
      try {
        const { run } = await request("GET", "runs/get", { run_id: id });
        const { info, data } = (run ?? {}) as {
          info?: { lifecycle_stage?: string };
          data?: { metrics?: ({ step?: number | string } | null)[] };
        };
        if (info?.lifecycle_stage === "deleted") return undefined;
        // Steps are 64 bits wide, which JSON's writers put into strings.
        const metrics = Array.isArray(data?.metrics) ? data.metrics : [];
        let lastStep: number | undefined;
        for (const metric of metrics) {
          const step = Number(metric?.step ?? 0);
          if (Number.isFinite(step)) lastStep = Math.max(lastStep ?? step, step);
        }
        return { lastStep };
      } catch (error) {
        if (hasCode(error, "RESOURCE_DOES_NOT_EXIST")) return undefined;
        throw error;
      }
    },
    async logMetrics(run, metrics) {
      await request("POST", "runs/log-batch", { run_id: run, metrics });
    },
    async logParams(run, params) {
      for (let i = 0; i < params.length; i += MOST_PARAMS)
        await request("POST", "runs/log-batch", {
          run_id: run,
          params: params.slice(i, i + MOST_PARAMS),
        });
    },
    async updateRun(run, status, end) {
      const ended = end === undefined ? {} : { end_time: end };
      await request("POST", "runs/update", { run_id: run, status, ...ended });
    },
  };
}

export function hasCode(error: unknown, code: string): boolean {
  return error instanceof MlflowError && error.code === code;
}

/** A server may repeat what it was sent: the token, or the name and the password, packed or not. */
function withoutSecrets(text: string, { authorization = "" }: Address): string {
  const [kind, sent] = authorization.split(" ", 2);
  const unpacked = kind === "Basic" ? Buffer.from(sent ?? "", "base64").toString() : "";
  const password = unpacked.slice(unpacked.indexOf(":") + 1);
  return [sent, unpacked, password].reduce<string>((shown, key) => withoutKey(shown, key), text);
}

function failureOf(
  status: number,
  answer: Record<string, unknown> | undefined,
  hidden: (text: string) => string,
): MlflowError {
  const code = typeof answer?.error_code === "string" ? hidden(answer.error_code) : undefined;
  const said = typeof answer?.message === "string" ? `: ${hidden(firstLine(answer.message))}` : "";
  if (status === 401 || status === 403)
    return new MlflowError(
      "refused",
      `it does not let us in (${status}${said}); set MLFLOW_TRACKING_USERNAME and ` +
        "MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN",
      code,
    );
  if (status === 408 || status === 429 || status >= 500)
    return new MlflowError("away", `it answered with status ${status}${said}`, code);
  if (code !== undefined) return new MlflowError("rejected", `${code}${said}`, code);
  return new MlflowError("refused", `it answered with status ${status}; is it an MLflow server?`);
}

function required(value: unknown, name: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw new MlflowError("refused", `its answer has no ${name}; is it an MLflow server?`);
}

function objectOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function firstLine(text: string): string {
  return oneLine(text.split("\n", 1)[0]!, 200);
}

function reasonOf(error: unknown): string {
  if (error instanceof ExchangeError && error.kind === "late") return "no answer in time";
  return oneLine(error instanceof Error ? error.message : String(error));
}
