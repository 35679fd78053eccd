/**
 * @file Metrics to an MLflow server: the protocol, and everything that can go wrong with a server.
 * (A real server is asked by `npm run interop`.)
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { seededRandom } from "../../src/environments/index.ts";
import { type MlflowOptions, openMlflow } from "../../src/monitoring/index.ts";
import { type FakeMlflow, type FakeRun, type Fault, fakeMlflow, sendJson } from "./fake-mlflow.ts";
import { temporaryFolder } from "./support.ts";

/** Quick, and all that is said is in `said`. */
function settings(url: string, more: Partial<MlflowOptions> = {}) {
  const said: string[] = [];
  const options: MlflowOptions = {
    ...{ trackingUri: url, experiment: "lights", run: "first", variables: {} },
    ...{ retrySeconds: 0.01, requestSeconds: 5, closeSeconds: 5 },
    runFile: join(temporaryFolder(), "mlflow.json"),
    say: (sentence) => void said.push(sentence),
    ...more,
  };
  return { options, said };
}

const valuesOf = ({ metrics }: FakeRun, key: string) =>
  [...metrics.values()]
    .filter((metric) => metric.key === key)
    .map(({ step, value }) => [step, value])
    .sort(([a], [b]) => Number(a) - Number(b));

function logSteps(logger: ReturnType<typeof openMlflow>, from: number, to: number) {
  for (let step = from; step <= to; step++) logger.log(step, { "actor/pg_loss": step / 4 });
}

const steps = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => [from + i, (from + i) / 4]);

async function ended(logger: ReturnType<typeof openMlflow>): Promise<void> {
  logger.close();
  await logger.flush();
}

describe("a run at an MLflow server", () => {
  it("has its name, params, tags, metrics and end", async () => {
    const server = await fakeMlflow();
    const { options, said } = settings(server.url, {
      params: { "algorithm.name": "gigpo", lr: 1e-6, sizes: [1, 2], off: null },
      tags: { world: "household" },
      now: () => 1_700_000_000_000,
    });
    const logger = openMlflow(options);
    logger.log(0, { "val/success": 0.5 });
    logger.log(1, {
      "actor/pg_loss": Number.NaN,
      "perf/max memory (GB)": Number.POSITIVE_INFINITY,
    });
    await ended(logger);
    expect(said).toEqual([]);
    expect([...server.experiments]).toEqual([["lights", "1"]]);
    const [run] = server.runs;
    expect(run).toMatchObject({ experiment: "1", name: "first", status: "FINISHED" });
    expect(run!.end).toBe(1_700_000_000_000);
    expect(Object.fromEntries(run!.params)).toEqual({
      ...{ "algorithm.name": "gigpo", lr: "0.000001", sizes: "[1,2]", off: "null" },
    });
    expect(Object.fromEntries(run!.tags)).toEqual({ world: "household" });
    expect([...run!.metrics.values()]).toEqual([
      { key: "val/success", step: 0, value: 0.5 },
      { key: "actor/pg_loss", step: 1, value: "NaN" },
      { key: "perf/max memory _GB_", step: 1, value: "Infinity" },
    ]);
  });

  it("is another run of the experiment that is there", async () => {
    const server = await fakeMlflow();
    server.experiments.set("other", "1").set("lights", "2");
    const { options } = settings(server.url);
    const logger = openMlflow(options);
    logger.endAs("failed");
    await ended(logger);
    expect(server.runs).toMatchObject([{ experiment: "2", status: "FAILED" }]);
    expect(server.asked.map(({ path }) => path)).not.toContain("POST experiments/create");
  });

  it("makes the experiment although another was quicker", async () => {
    const server = await fakeMlflow();
    server.fault = (_response, { path }) => {
      if (path === "POST experiments/create") server.experiments.set("lights", "7");
      return false;
    };
    await ended(openMlflow(settings(server.url).options));
    expect(server.runs).toMatchObject([{ experiment: "7", status: "FINISHED" }]);
  });

  it("is sent in batches of what a request may hold", async () => {
    const server = await fakeMlflow();
    const params = Object.fromEntries(Array.from({ length: 250 }, (_, i) => [`p${i}`, i]));
    const logger = openMlflow(settings(server.url, { params }).options);
    const many = Object.fromEntries(Array.from({ length: 2300 }, (_, i) => [`m${i}`, i]));
    logger.log(1, many);
    for (let step = 2; step < 30; step++) logger.log(step, { a: step, b: step });
    await ended(logger);
    const [run] = server.runs;
    expect(run!.params.size).toBe(250);
    expect(run!.metrics.size).toBe(2300 + 56);
    const batches = server.asked.filter(({ path }) => path === "POST runs/log-batch");
    // Three of params, three of the large step, one of all the others.
    expect(batches).toHaveLength(7);
  });
});

describe("a run that is resumed", () => {
  it("goes on with the same MLflow run, and logs no step twice", async () => {
    const server = await fakeMlflow();
    const { options } = settings(server.url, { params: { lr: 1 } });
    const first = openMlflow(options);
    logSteps(first, 1, 14);
    await first.flush();
    // Killed here: no end was told. Its checkpoint is of step 10, so 11 to 14 are done again.
    const second = openMlflow({ ...options, params: { lr: 2 } });
    logSteps(second, 11, 20);
    await ended(second);
    expect(server.runs).toHaveLength(1);
    const [run] = server.runs;
    expect(valuesOf(run!, "actor/pg_loss")).toEqual(steps(1, 20));
    expect(run!.metrics.size).toBe(20);
    expect(run!.params.get("lr")).toBe("1");
    expect(run!.status).toBe("FINISHED");
    expect(server.asked).toContainEqual(
      expect.objectContaining({ body: { run_id: "run1", status: "RUNNING" } }),
    );
  });

  it("begins anew where the run is gone, the file is broken, or the server is another", async () => {
    const server = await fakeMlflow();
    const { options } = settings(server.url);
    await ended(openMlflow(options));
    server.runs[0]!.deleted = true;
    await ended(openMlflow(options));
    writeFileSync(options.runFile, '{"url": "http');
    await ended(openMlflow(options));
    const other = await fakeMlflow();
    await ended(openMlflow({ ...options, trackingUri: other.url }));
    expect(server.runs.map(({ status }) => status)).toEqual(["FINISHED", "FINISHED", "FINISHED"]);
    expect(other.runs).toHaveLength(1);
  });
});

describe("a server in trouble", () => {
  it("is tried again until it answers, and told of once", async () => {
    const server = await fakeMlflow();
    const broken = [500, 503, 429, 502];
    const faults = seededRandom("mlflow");
    server.fault = (response, _asked, n) => {
      const draw = faults.integer(100);
      if (draw < 50) return false;
      if (draw < 70) response.destroy();
      else response.writeHead(broken[n % 4]!, { "content-type": "text/html" }).end("<html>");
      return true;
    };
    const { options, said } = settings(server.url, { params: { a: 1 } });
    const logger = openMlflow(options);
    for (let step = 1; step <= 30; step++) {
      logger.log(step, { "actor/pg_loss": step / 4 });
      await wait(2);
    }
    await ended(logger);
    expect(valuesOf(server.runs[0]!, "actor/pg_loss")).toEqual(steps(1, 30));
    expect(server.runs[0]!.status).toBe("FINISHED");
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(
      /^MLflow at http:\/\/127\.0\.0\.1:\d+: no answer \(.*\)\. The run goes on/,
    );
  });

  it("gets a step once, though it was sent again because the answer was lost", async () => {
    const server = await fakeMlflow();
    let lost = 0;
    const answerLost = (fake: FakeMlflow) => {
      fake.fault = (response, { path }) => {
        if (path !== "POST runs/log-batch" || lost++ >= 3) return false;
        // It is carried out, and the answer does not come.
        response.writeHead = (() => {
          response.destroy();
          return response;
        }) as never;
        return false;
      };
    };
    answerLost(server);
    const { options } = settings(server.url);
    const logger = openMlflow(options);
    logSteps(logger, 1, 5);
    await ended(logger);
    expect(lost).toBeGreaterThan(3);
    expect(server.runs[0]!.metrics.size).toBe(5);
  });

  it("that is away at first gets everything when it comes", async () => {
    const server = await fakeMlflow();
    const port = Number(new URL(server.url).port);
    await server.stop();
    const { options, said } = settings(server.url);
    const logger = openMlflow(options);
    logSteps(logger, 1, 3);
    await wait(50);
    expect(said).toHaveLength(1);
    const late = await fakeMlflow(port);
    logSteps(logger, 4, 6);
    await ended(logger);
    expect(valuesOf(late.runs[0]!, "actor/pg_loss")).toEqual(steps(1, 6));
    expect(said).toHaveLength(1);
  });

  it("that stays away costs its metrics, a sentence, and no more time than allowed", async () => {
    const server = await fakeMlflow();
    await server.stop();
    const { options, said } = settings(server.url, { closeSeconds: 0.3, queueSteps: 10 });
    const logger = openMlflow(options);
    logSteps(logger, 1, 25);
    await wait(30);
    expect(said).toHaveLength(1);
    const begun = performance.now();
    await ended(logger);
    expect(performance.now() - begun).toBeLessThan(2000);
    expect(said.slice(1)).toEqual([expect.stringMatching(/25 steps were not sent/)]);
    logger.log(26, { a: 1 });
    logger.close();
  });

  it("that hangs holds nothing up", async () => {
    const server = await fakeMlflow();
    server.fault = () => true;
    const { options } = settings(server.url, { closeSeconds: 0.3, requestSeconds: 60 });
    const logger = openMlflow(options);
    logSteps(logger, 1, 100);
    const begun = performance.now();
    await ended(logger);
    expect(performance.now() - begun).toBeLessThan(2000);
  });

  it("keeps the newest steps where there is no room for all", async () => {
    const server = await fakeMlflow();
    let isAway = true;
    server.fault = (response) => {
      if (isAway) response.destroy();
      return isAway;
    };
    const { options, said } = settings(server.url, { queueSteps: 10 });
    const logger = openMlflow(options);
    logSteps(logger, 1, 25);
    isAway = false;
    await ended(logger);
    expect(valuesOf(server.runs[0]!, "actor/pg_loss")).toEqual(steps(16, 25));
    expect(said.at(-1)).toMatch(/15 steps were not sent/);
  });

  it("that takes something for wrong gets the rest", async () => {
    const server = await fakeMlflow();
    server.fault = (response, { path, body }) => {
      const isParams = path === "POST runs/log-batch" && body.params !== undefined;
      const answer = { error_code: "INVALID_PARAMETER_VALUE", message: "too long" };
      if (isParams) sendJson(response, 400, answer);
      return isParams;
    };
    const { options, said } = settings(server.url, { params: { a: "b" } });
    const logger = openMlflow(options);
    logSteps(logger, 1, 3);
    await ended(logger);
    expect(valuesOf(server.runs[0]!, "actor/pg_loss")).toEqual(steps(1, 3));
    expect(said).toEqual([expect.stringMatching(/does not take some of what is sent.*too long/)]);
  });

  it("that redirects, or answers without end, is left alone, in one sentence", async () => {
    const elsewhere = await fakeMlflow();
    const faults: [Fault, RegExp][] = [
      [
        (response) => {
          response.writeHead(307, { location: elsewhere.url }).end();
          return true;
        },
        /it redirects to http:\/\/127\.0\.0\.1:\d+; set MLFLOW_TRACKING_URI/,
      ],
      [
        (response) => {
          response.writeHead(200, { "content-type": "application/json" });
          const more = (): void => {
            while (!response.destroyed && response.write(" ".repeat(1 << 20)));
            if (!response.destroyed) response.once("drain", more);
          };
          more();
          return true;
        },
        /the answer has more than 16 MB; is it an MLflow server/,
      ],
    ];
    for (const [fault, sentence] of faults) {
      const server = await fakeMlflow();
      server.fault = fault;
      const { options, said } = settings(server.url, {
        variables: { MLFLOW_TRACKING_TOKEN: "a-secret" },
      });
      const logger = openMlflow(options);
      logSteps(logger, 1, 5);
      await ended(logger);
      expect(said).toEqual([expect.stringMatching(sentence)]);
      expect(server.asked).toHaveLength(1);
    }
    // The key goes only where the user said.
    expect(elsewhere.asked).toEqual([]);
  });

  it.each([
    [{ MLFLOW_TRACKING_TOKEN: "hush-hush" }],
    [{ MLFLOW_TRACKING_USERNAME: "alice", MLFLOW_TRACKING_PASSWORD: "hush-hush" }],
  ])("that repeats a key is not repeated: %j", async (variables) => {
    const server = await fakeMlflow();
    const basic = Buffer.from("alice:hush-hush").toString("base64");
    server.fault = (response) => {
      sendJson(response, 401, { message: `no: hush-hush, alice:hush-hush, ${basic}` });
      return true;
    };
    const { options, said } = settings(server.url, { variables });
    const logger = openMlflow(options);
    logSteps(logger, 1, 2);
    await ended(logger);
    expect(said).toEqual([expect.stringMatching(/it does not let us in \(401: no: /)]);
    expect(said[0]).not.toMatch(/hush/);
    if ("MLFLOW_TRACKING_PASSWORD" in variables) expect(said[0]).not.toContain(basic);
  });

  it.each([
    [
      "lets nobody in",
      401,
      { message: "who are you" },
      /it does not let us in \(401: who are you\)/,
    ],
    ["is something else", 200, "<html>", /status 200; is it an MLflow server/],
    ["has other paths", 404, "<html>", /status 404; is it an MLflow server/],
  ])("that %s is left alone, in one sentence", async (_, status, answer, sentence) => {
    const server = await fakeMlflow();
    server.fault = (response) => {
      if (typeof answer === "string") response.writeHead(status).end(answer);
      else sendJson(response, status, answer);
      return true;
    };
    const { options, said } = settings(server.url);
    const logger = openMlflow(options);
    logSteps(logger, 1, 5);
    await logger.flush();
    logSteps(logger, 6, 9);
    await ended(logger);
    expect(server.asked).toHaveLength(1);
    expect(said).toEqual([expect.stringMatching(sentence)]);
  });
});

describe("who we are", () => {
  const authorization = async (variables: Record<string, string>, user = "") => {
    const server = await fakeMlflow();
    const { options, said } = settings(server.url.replace("//", `//${user}`), { variables });
    const logger = openMlflow(options);
    logSteps(logger, 1, 1);
    await ended(logger);
    const seen = new Set(server.asked.map(({ headers }) => headers.authorization));
    expect(seen.size).toBe(1);
    const stored = readFileSync(options.runFile, "utf8");
    expect(stored + said.join()).not.toMatch(/secret|c2VjcmV0|alice/);
    expect(server.runs).toHaveLength(1);
    return [...seen][0];
  };
  const basic = `Basic ${Buffer.from("alice:secret").toString("base64")}`;

  it("is said in a header, and stored nowhere", async () => {
    expect(await authorization({})).toBeUndefined();
    expect(
      await authorization({
        ...{ MLFLOW_TRACKING_USERNAME: "alice", MLFLOW_TRACKING_PASSWORD: "secret" },
        MLFLOW_TRACKING_TOKEN: "secret-token",
      }),
    ).toBe(basic);
    expect(await authorization({ MLFLOW_TRACKING_TOKEN: "secret" })).toBe("Bearer secret");
    expect(await authorization({}, "alice:secret@")).toBe(basic);
  });

  it.each([
    [undefined, /where is the server\? Set MLFLOW_TRACKING_URI/],
    ["sqlite://alice:secret@host/x.db", /must be a server's.*not "sqlite:\/\/…@host\/x\.db"/],
    ["./mlruns", /start "mlflow server" over them/],
    ["databricks", /must be a server's/],
  ])("%s is no place", (trackingUri, message) => {
    const { options } = settings("", { trackingUri, variables: {} });
    expect(() => openMlflow(options)).toThrow(message);
  });

  it("is found in MLflow's own variable", async () => {
    const server = await fakeMlflow();
    const variables = { MLFLOW_TRACKING_URI: `${server.url}/` };
    await ended(openMlflow(settings("", { trackingUri: undefined, variables }).options));
    expect(server.runs).toHaveLength(1);
  });
});
