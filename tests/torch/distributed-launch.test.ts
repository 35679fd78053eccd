/**
 * @file Who is who: launch(), the environment variables, a world of one, ranks that do not come.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { describe, expect, it, vi } from "vitest";
import {
  findRendezvous,
  initializeProcessGroup,
  LaunchError,
  launch,
  type OutputLine,
  ProcessGroupError,
  type ProcessGroupOptions,
  tensor,
  tidy,
  zeros,
} from "../../src/torch/index.ts";
import { isRunning, runRanks } from "./distributed/ranks.ts";

// Starting processes is slow on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const ALONE = new URL("distributed/alone.ts", import.meta.url);

describe("launch", () => {
  it("runs a script as several ranks and passes on what they write", async () => {
    const lines: OutputLine[] = [];
    const results = await launch(ALONE, {
      processes: 2,
      arguments: ["a", "b c"],
      environment: { EXTRA: "yes", RANK: "9" },
      onLine: (line) => lines.push(line),
    });
    expect(results).toMatchObject([
      { rank: 0, exitCode: 0, signal: null, stopped: false },
      { rank: 1, exitCode: 0, signal: null, stopped: false },
    ]);
    for (const rank of [0, 1]) {
      const mine = lines.filter((line) => line.rank === rank);
      expect(mine).toContainEqual({ rank, stream: "stdout", text: "a line" });
      expect(mine).toContainEqual({ rank, stream: "stderr", text: "a complaint" });
      const who = { rank, worldSize: 2, localRank: rank, arguments: ["a", "b c"], extra: "yes" };
      expect(mine[0]?.text).toContain(JSON.stringify(who));
    }
  });

  it("says which rank failed first, and stops the others", async () => {
    const run = await runRanks("alone.ts", {
      processes: 2,
      arguments: ["fail"],
      graceMilliseconds: 500,
    });
    expect(run.error?.first).toMatchObject({ rank: 1, exitCode: 5, stopped: false });
    expect(run.error?.message).toMatch(/^rank 1 of 2 failed first \(exit code 5\); rank 0: /);
  });

  it("stops all ranks on request", async () => {
    const abort = new AbortController();
    let there = 0;
    const failure = await launch(ALONE, {
      processes: 2,
      arguments: ["hang"],
      onLine: ({ text }) => {
        if (text === "a line" && ++there === 2) abort.abort();
      },
      signal: abort.signal,
    }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(LaunchError);
    expect((failure as LaunchError).results).toMatchObject([
      { signal: "SIGTERM", stopped: true },
      { signal: "SIGTERM", stopped: true },
    ]);
  });

  it("does not leave ranks behind when it is killed", async () => {
    const code = `
      import { launch } from ${JSON.stringify(new URL("../../src/torch/index.ts", import.meta.url))};
      await launch(${JSON.stringify(ALONE)}, { processes: 2, arguments: ["hang"] });
    `;
    const launcher = spawn(
      process.execPath,
      ["--import", import.meta.resolve("tsx"), "--input-type=module", "--eval", code],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    let there = 0;
    for await (const line of createInterface({ input: launcher.stdout }))
      if (line.endsWith("a line") && ++there === 2) break;
    const ranks = await childrenOf(launcher.pid!);
    expect(ranks.length).toBe(2);
    launcher.kill("SIGKILL");
    await once(launcher, "exit");
    await expect.poll(() => ranks.filter(isRunning), { timeout: 5000 }).toEqual([]);
  });

  it("refuses a number of processes that is none", async () => {
    await expect(launch(ALONE, { processes: 0 })).rejects.toThrow("a whole number from 1, got 0");
  });
});

async function childrenOf(parent: number): Promise<number[]> {
  const list = spawn("ps", ["-o", "pid=", "--ppid", `${parent}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const processes: number[] = [];
  for await (const line of createInterface({ input: list.stdout })) processes.push(Number(line));
  return processes;
}

describe("a world of one", () => {
  it("has the same operations, without a network", () => {
    const group = initializeProcessGroup({ rank: 0, worldSize: 1 });
    tidy(() => {
      const x = tensor([1, 2, 4]);
      for (const reduction of ["sum", "average", "product", "minimum", "maximum"] as const)
        expect(group.allReduce(x, reduction).toArray()).toEqual([1, 2, 4]);
      expect(group.broadcast(x).toArray()).toEqual([1, 2, 4]);
      expect(group.allGather(x).toArray()).toEqual([[1, 2, 4]]);
      expect(group.allGatherUneven(x).map((one) => one.toArray())).toEqual([[1, 2, 4]]);
      expect(group.reduceScatter(x).toArray()).toEqual([1, 2, 4]);
      expect(group.broadcastObject({ a: 1 })).toEqual({ a: 1 });
      expect(group.allGatherObject("x")).toEqual(["x"]);
      group.barrier();
      expect(group.allGather(x).sharesStorageWith(x)).toBe(false);
    });
    expect(() => group.send(zeros([1]), 0)).toThrow("is this rank itself");
    expect(() => group.broadcast(zeros([1]), 1)).toThrow("no rank 1 in a world of 1");
    group.destroy();
    expect(() => group.barrier()).toThrow("was destroyed");
  });

  it("is what there is without environment variables", () => {
    expect(findRendezvous({}, {})).toMatchObject({ rank: 0, worldSize: 1, localRank: 0 });
    expect(findRendezvous({}, { RANK: "0", WORLD_SIZE: "1" })).toMatchObject({ worldSize: 1 });
  });
});

describe("the environment variables", () => {
  const GOOD = { RANK: "3", WORLD_SIZE: "4", MASTER_ADDR: "10.0.0.1", MASTER_PORT: "29500" };

  it("say who and where", () => {
    const where = { masterAddress: "10.0.0.1", masterPort: 29500 };
    expect(findRendezvous({}, GOOD)).toEqual({ rank: 3, worldSize: 4, localRank: 3, ...where });
    expect(findRendezvous({}, { ...GOOD, LOCAL_RANK: "1" }).localRank).toBe(1);
    expect(findRendezvous({ rank: 0, masterPort: 5 }, GOOD)).toMatchObject({
      rank: 0,
      masterPort: 5,
    });
  });

  it.each([
    [{ WORLD_SIZE: undefined }, "WORLD_SIZE is not set, although RANK=3 is"],
    [{ RANK: undefined }, "RANK is not set, although WORLD_SIZE=4 is"],
    [{ RANK: "4" }, "RANK: expected 0 to 3 (WORLD_SIZE is 4), got 4"],
    [{ RANK: "-1" }, 'RANK: expected a whole number from 0, got "-1"'],
    [{ RANK: "one" }, 'RANK: expected a whole number from 0, got "one"'],
    [{ WORLD_SIZE: "0" }, "WORLD_SIZE: expected a number of processes from 1, got 0"],
    [{ MASTER_ADDR: undefined }, "MASTER_ADDR is not set: 4 processes need"],
    [{ MASTER_PORT: "" }, "MASTER_PORT is not set: 4 processes need"],
    [{ MASTER_PORT: "0" }, "MASTER_PORT: expected 1 to 65535, got 0"],
    [{ MASTER_PORT: "70000" }, 'MASTER_PORT: expected a whole number from 0 to 65535, got "70000"'],
    [{ LOCAL_RANK: "1.5" }, 'LOCAL_RANK: expected a whole number from 0, got "1.5"'],
  ])("%j is an error", (wrong, message) => {
    expect(() => findRendezvous({}, { ...GOOD, ...wrong })).toThrow(message);
  });
});

describe("ranks that do not find each other", () => {
  const join = (options: ProcessGroupOptions) => () =>
    initializeProcessGroup({
      worldSize: 3,
      masterAddress: "127.0.0.1",
      joinTimeoutMilliseconds: 300,
      ...options,
    });
  const failureOf = (body: () => unknown): unknown => {
    try {
      return body();
    } catch (error) {
      return error;
    }
  };

  it("name rank 0 when it is not there", async () => {
    const failure = failureOf(join({ rank: 1, masterPort: await freePort() }));
    expect(failure).toBeInstanceOf(ProcessGroupError);
    expect(failure).toMatchObject({ reason: "rendezvous", ranks: [0] });
    expect(String(failure)).toMatch(/rank 0 does not answer at 127\.0\.0\.1:\d+ within 300 ms/);
  });

  it("name those that rank 0 waited for", async () => {
    const failure = failureOf(join({ rank: 0, masterPort: await freePort() }));
    expect(failure).toMatchObject({ reason: "rendezvous", ranks: [1, 2] });
    expect(String(failure)).toContain("ranks 1 and 2 of 3 did not join within 300 ms");
  });

  it("say that a port is taken", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    expect(join({ rank: 0, masterPort: port })).toThrow(/the port is in use.*Set MASTER_PORT/);
    server.close();
  });

  it("refuse backends and times that are none", () => {
    expect(join({ rank: 0, masterPort: 1, backend: "mpi" as "gloo" })).toThrow('"gloo" or "nccl"');
    expect(join({ rank: 0, masterPort: 1, timeoutMilliseconds: 0 })).toThrow("from 1, got 0");
  });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
