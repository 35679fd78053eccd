/**
 * @file An MLflow server on loopback, as far as a run needs one: it keeps what it is sent, refuses what the
 * real one refuses, and goes wrong when a test says so.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface FakeRun {
  id: string;
  experiment: string;
  name: string | undefined;
  status: string;
  end: number | undefined;
  deleted: boolean;
  params: Map<string, string>;
  tags: Map<string, string>;
  /** key, step, value and time of each, as the real one keeps them: the same one twice is there once. */
  metrics: Map<string, { key: string; step: number; value: number | string }>;
}

export interface Asked {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Record<string, unknown>;
}

/** True where the test has answered itself. */
export type Fault = (
  response: ServerResponse,
  asked: Asked,
  n: number,
) => boolean | Promise<boolean>;

export interface FakeMlflow {
  readonly url: string;
  readonly runs: FakeRun[];
  readonly asked: Asked[];
  readonly experiments: Map<string, string>;
  fault: Fault | undefined;
  stop(): Promise<void>;
}

class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const KEY = /^[\p{L}\p{N}_\-./ ]+$/u;

export async function fakeMlflow(port = 0): Promise<FakeMlflow> {
  const experiments = new Map<string, string>();
  const runs: FakeRun[] = [];
  const asked: Asked[] = [];
  const fake = { experiments, runs, asked, fault: undefined as Fault | undefined };

  const runOf = (id: unknown): FakeRun => {
    const run = runs.find((candidate) => candidate.id === id);
    if (!run) throw new Refusal(404, "RESOURCE_DOES_NOT_EXIST", `Run '${id}' not found`);
    return run;
  };
  const checkKey = (key: string) => {
    if (!KEY.test(key) || key.length > 250 || key.startsWith("/"))
      throw new Refusal(400, "INVALID_PARAMETER_VALUE", `Invalid key '${key}'`);
  };

  const routes: Record<string, (body: Record<string, unknown>) => unknown> = {
    "GET experiments/get-by-name": ({ experiment_name: name }) => {
      const id = experiments.get(name as string);
      if (id === undefined)
        throw new Refusal(404, "RESOURCE_DOES_NOT_EXIST", `Could not find '${name}'`);
      return { experiment: { experiment_id: id, name, lifecycle_stage: "active" } };
    },
    "POST experiments/create": ({ name }) => {
      if (experiments.has(name as string))
        throw new Refusal(400, "RESOURCE_ALREADY_EXISTS", `${name} exists`);
      experiments.set(name as string, String(experiments.size + 1));
      return { experiment_id: experiments.get(name as string) };
    },
    "POST runs/create": ({ experiment_id: experiment, run_name: name, start_time: time, tags }) => {
      if (![...experiments.values()].includes(experiment as string))
        throw new Refusal(404, "RESOURCE_DOES_NOT_EXIST", `No Experiment with id=${experiment}`);
      if (typeof time !== "number") throw new Refusal(400, "BAD_REQUEST", "no start_time");
      const run: FakeRun = {
        ...{ id: `run${runs.length + 1}`, experiment: experiment as string, status: "RUNNING" },
        ...{ name: name as string | undefined, end: undefined, deleted: false },
        params: new Map(),
        tags: new Map(
          (tags as { key: string; value: string }[]).map((tag) => [tag.key, tag.value]),
        ),
        metrics: new Map(),
      };
      runs.push(run);
      return { run: { info: { run_id: run.id, status: "RUNNING" } } };
    },
    "GET runs/get": ({ run_id: id }) => {
      const run = runOf(id);
      const latest = new Map([...run.metrics.values()].map((metric) => [metric.key, metric]));
      const metrics = [...latest.values()].map((metric) => ({ ...metric, step: `${metric.step}` }));
      const stage = run.deleted ? "deleted" : "active";
      return { run: { info: { run_id: id, lifecycle_stage: stage }, data: { metrics } } };
    },
    "POST runs/log-batch": (body) => {
      const run = runOf(body.run_id);
      const params = (body.params ?? []) as { key: string; value: string }[];
      const metrics = (body.metrics ?? []) as {
        readonly key: string;
        readonly value: number | string;
        readonly step: number;
        readonly timestamp: number;
      }[];
      if (metrics.length > 1000 || params.length > 100 || run.deleted)
        throw new Refusal(400, "INVALID_PARAMETER_VALUE", "too much");
      for (const { key, value } of params) {
        checkKey(key);
        const before = run.params.get(key);
        if (typeof value !== "string" || value.length > 6000 || (before ?? value) !== value)
          throw new Refusal(400, "INVALID_PARAMETER_VALUE", `Changing param '${key}'`);
        run.params.set(key, value);
      }
      for (const { key, value, step, timestamp } of metrics) {
        checkKey(key);
        const isValue = typeof value === "number" || /^(NaN|-?Infinity)$/.test(value);
        if (!isValue || !Number.isInteger(step) || !Number.isInteger(timestamp))
          throw new Refusal(
            400,
            "INVALID_PARAMETER_VALUE",
            `Got invalid value for metric '${key}'`,
          );
        run.metrics.set(`${key} ${step} ${value} ${timestamp}`, { key, step, value });
      }
      return {};
    },
    "POST runs/update": ({ run_id: id, status, end_time: end }) => {
      const run = runOf(id);
      run.status = status as string;
      run.end = end as number | undefined;
      return { run_info: {} };
    },
  };

  const server = createServer(async (message, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of message) pieces.push(piece as Buffer);
    const url = new URL(message.url!, "http://127.0.0.1");
    const body = pieces.length
      ? (JSON.parse(Buffer.concat(pieces).toString()) as Record<string, unknown>)
      : Object.fromEntries(url.searchParams);
    const path = `${message.method} ${url.pathname.replace("/api/2.0/mlflow/", "")}`;
    const request = { path, headers: message.headers, body };
    asked.push(request);
    if (await fake.fault?.(response, request, asked.length - 1)) return;
    try {
      const route = routes[path];
      if (!route) throw new Refusal(404, "ENDPOINT_NOT_FOUND", path);
      sendJson(response, 200, route(body));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      sendJson(response, error.status, { error_code: error.code, message: error.message });
    }
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(stop);
  const { port: taken } = server.address() as AddressInfo;
  return Object.assign(fake, { url: `http://127.0.0.1:${taken}`, stop });
}

export function sendJson(response: ServerResponse, status: number, json: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(json));
}
