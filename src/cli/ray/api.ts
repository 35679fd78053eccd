/**
 * @file The job interface of a Ray cluster's dashboard: submit, look, stop, read the log. Through node:http, because
 * the dashboard takes whatever fetch sends for a browser's and refuses it.
 */
import { type IncomingMessage, request } from "node:http";
import { OptionError } from "../../assembly/index.ts";
import { type Connected, ExchangeError, exchange, oneLine } from "../../network/index.ts";

export type JobStatus = "PENDING" | "RUNNING" | "STOPPED" | "SUCCEEDED" | "FAILED";

export interface RayJob {
  readonly submission_id: string;
  readonly status: JobStatus;
  readonly message: string | null;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly driver_exit_code?: number | null;
}

export interface RayJobs {
  /** Where the dashboard is. */
  readonly address: string;
  submit(job: {
    readonly submission_id: string;
    readonly entrypoint: string;
    readonly runtime_env: { readonly env_vars: Readonly<Record<string, string>> };
    readonly metadata: Readonly<Record<string, string>>;
  }): Promise<void>;
  find(name: string): Promise<RayJob>;
  list(): Promise<readonly RayJob[]>;
  stop(name: string): Promise<void>;
  /** Everything so far; undefined where it cannot be had, as of a machine that is gone. */
  log(name: string): Promise<string | undefined>;
}

const LIMITS = { time: 30_000, size: 2 ** 28 };
const DEFAULT_ADDRESS = "http://127.0.0.1:8265";

export function rayJobs(given: string | null | undefined): RayJobs {
  const address = addressOf(given ?? process.env.RAY_API_SERVER_ADDRESS ?? process.env.RAY_ADDRESS);
  const ask = async (method: string, path: string, body?: unknown): Promise<string> => {
    const url = new URL(path, address);
    const text = body === undefined ? undefined : JSON.stringify(body);
    try {
      return await exchange(
        { url, method, limits: LIMITS, connect: (signal) => connected(url, method, text, signal) },
        async (answer) => {
          if (answer.ok) return answer.text();
          const said = (await answer.beginning(2000)).bytes.toString("utf8");
          throw new RayAnswer(answer.status, oneLine(said));
        },
      );
    } catch (error) {
      if (!(error instanceof ExchangeError)) throw error;
      throw new OptionError(
        `Ray's dashboard at ${address} does not answer (${error.message}). Is the cluster there (ray start --head), ` +
          "with the dashboard (pip install 'ray[default]')? trainer.ray_address=http://HOST:8265 says where.",
      );
    }
  };
  const at = (name: string) => `/api/jobs/${encodeURIComponent(name)}`;
  return {
    address,
    async submit(job) {
      await ask("POST", "/api/jobs/", job);
    },
    find: async (name) => JSON.parse(await ask("GET", at(name))) as RayJob,
    list: async () => JSON.parse(await ask("GET", "/api/jobs/")) as RayJob[],
    async stop(name) {
      await ask("POST", `${at(name)}/stop`);
    },
    async log(name) {
      try {
        return (JSON.parse(await ask("GET", `${at(name)}/logs`)) as { logs: string }).logs;
      } catch (error) {
        if (error instanceof RayAnswer) return undefined;
        throw error;
      }
    },
  };
}

/** The dashboard said no. */
export class RayAnswer extends OptionError {
  readonly status: number;

  constructor(status: number, said: string) {
    super(`Ray's dashboard answers ${status}: ${said}`);
    this.status = status;
  }
}

/** RAY_ADDRESS may be a dashboard's (http://…) or a cluster's (auto, ray://…, HOST:6379), which has it on its head. */
function addressOf(given: string | undefined): string {
  if (given === undefined || given === "" || given === "auto") return DEFAULT_ADDRESS;
  if (/^https?:\/\//.test(given)) return given;
  const host = given.replace(/^ray:\/\//, "").replace(/:\d+$/, "");
  return `http://${host}:8265`;
}

function connected(
  url: URL,
  method: string,
  body: string | undefined,
  signal: AbortSignal,
): Promise<Connected> {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { "content-type": "application/json" };
    const asking = request(url, { method, headers, signal }, (answer: IncomingMessage) => {
      const found = new Headers();
      for (const [name, value] of Object.entries(answer.headers))
        if (typeof value === "string") found.set(name, value);
      resolve({
        status: answer.statusCode ?? 0,
        statusText: answer.statusMessage ?? "",
        headers: found,
        body: answer,
      });
    });
    asking.on("error", reject);
    asking.end(body);
  });
}
