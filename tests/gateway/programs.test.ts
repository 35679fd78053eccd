/**
 * @file Episodes that are programs: functions, commands and agents elsewhere, through the library as a user calls it.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, describe, expect, it } from "vitest";
import { evaluateFolder, openRunWorld } from "../../src/assembly/index.ts";
import { resolvePlay } from "../../src/config/index.ts";
import { type AgentProgramOptions, agentProgram } from "../../src/gateway/index.ts";
import { openServer } from "../../src/network/index.ts";
import { checkBatch, packTrajectories, type Trajectory } from "../../src/rollout/index.ts";
import { train } from "../../src/library/index.ts";
import { newModelFolder, temporaryFolder } from "../rollout/support.ts";

const folder = temporaryFolder();
const model = newModelFolder(folder);

interface Numbered {
  [key: string]: number;
  number: number;
}
const tasks: Numbered[] = Array.from({ length: 6 }, (_, number) => ({ number }));

/** Plays every task once and gives the episodes. */
async function played(
  options: Omit<AgentProgramOptions<Numbered>, "name" | "tasks"> & { tasks?: Numbered[] },
  numbers: readonly number[] = tasks.map(({ number }) => number),
) {
  const world = agentProgram<Numbered>({ name: "numbers", tasks, ...options });
  const { play, world: where } = await resolvePlay({ world, agent: { replyTokens: 6 } }, {});
  const opened = await openRunWorld(where);
  try {
    const set = await opened.namedTasks("train");
    return await evaluateFolder(model, {
      ...{ play: { ...play, retries: 0 }, world: opened },
      tasks: numbers.map((number) => set.task(number)),
    });
  } finally {
    await opened.world.close?.();
  }
}

/** The last message that was answered. */
const asked = ({ messages }: Trajectory["turns"][number]) => messages.at(-1)!.content;

/** Asks so often, one conversation. */
async function talk(baseURL: string, apiKey: string, turns: number): Promise<string> {
  const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
  const messages: OpenAI.Chat.Completions.ChatCompletionMessageParam[] = [
    { role: "user", content: "go" },
  ];
  for (let turn = 0; turn < turns; turn++) {
    const { choices } = await client.chat.completions.create({ model: "m", messages });
    messages.push(choices[0]!.message, { role: "user", content: "on" });
  }
  return String(messages.at(-2)!.content);
}

describe("a function", () => {
  it("is an episode: its calls are turns, its branches rows, its word the reward", async () => {
    const { all, groups } = await played({
      async function({ data }, { baseURL, apiKey }) {
        await Promise.all([talk(baseURL, apiKey, 2), talk(baseURL, apiKey, 1)]);
        return { reward: data.number, won: data.number > 2 };
      },
    });
    expect(all.map(({ status }) => status)).toEqual(["lost", "lost", "lost", "won", "won", "won"]);
    expect(all.map(({ reward, outcome }) => [reward, outcome])).toEqual(
      tasks.map(({ number }) => [number, number]),
    );
    for (const { turns } of all) {
      expect(turns).toHaveLength(3);
      expect(new Set(turns.map(({ branch }) => branch)).size).toBe(2);
      expect(turns.map(({ anchor }) => anchor).sort()).toEqual(["go", "go", "on"]);
    }
    const batch = packTrajectories(groups.flatMap(({ trajectories }) => trajectories));
    checkBatch(batch);
    expect(batch.trajectoryOf).toHaveLength(12);
  });

  it("is judged by `reward`, by what it posts, or by components", async () => {
    const judged = await played({
      function: async (_, { baseURL, apiKey }) => talk(baseURL, apiKey, 1),
      reward: ({ output, task }) => (task.data.number === 1 ? { score: 1 } : output.length * 0),
    });
    expect(judged.all.map(({ won }) => won)).toEqual([false, true, false, false, false, false]);
    const posted = await played({
      async function(_, { baseURL, apiKey }) {
        await talk(baseURL, apiKey, 1);
        const answer = await fetch(`${baseURL}/sessions/self/reward`, {
          ...{ method: "POST", body: JSON.stringify({ reward: 0.5 }) },
          headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
        });
        return answer.ok ? "posted" : "refused";
      },
    });
    expect(posted.all.map(({ reward }) => reward)).toEqual(tasks.map(() => 0.5));
    const silent = await played({ function: async (_, a) => talk(a.baseURL, a.apiKey, 1) });
    expect(silent.all[0]).toMatchObject({ status: "environment error" });
    expect(silent.all[0]!.error).toMatch(/without a reward/);
    const components = await played({
      ...{ function: async (_, a) => talk(a.baseURL, a.apiKey, 1), reward: "components" },
    });
    expect(components.all[0]).toMatchObject({ status: "lost", reward: 0 });
  });

  it("ends at its limits and by its faults; each costs one episode", async () => {
    const { all, account } = await played({
      maximumCalls: 3,
      async function({ data }, { baseURL, apiKey }) {
        if (data.number === 0) throw new Error("it broke");
        if (data.number === 2) await talk(baseURL, apiKey, 9);
        if (data.number === 3) {
          setTimeout(() => {
            throw new Error("later");
          }, 1);
          await new Promise(() => {});
        }
        await talk(baseURL, apiKey, 1);
        return 1;
      },
    });
    expect(all.map(({ status }) => status)).toEqual([
      ...["environment error", "won", "turn limit", "environment error", "won", "won"],
    ]);
    expect(all[0]!.error).toMatch(/it broke/);
    expect(all[2]!.turns).toHaveLength(3);
    expect(account.leftOut).toBe(2);
  });

  it("runs beside hundreds of others, each with a session of its own", async () => {
    let running = 0;
    let most = 0;
    const many = Array.from({ length: 200 }, (_, number) => ({ number }));
    const { all } = await played(
      {
        tasks: many,
        async function({ data }, { baseURL, apiKey }) {
          most = Math.max(most, ++running);
          const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
          const messages = [{ role: "user", content: `go ${data.number}` }] as const;
          await client.chat.completions.create({ model: "m", messages: [...messages] });
          running--;
          return 1;
        },
      },
      many.map(({ number }) => number),
    );
    expect(most).toBeGreaterThan(100);
    expect(all.map(({ status, error, turns }) => [error ?? status, ...turns.map(asked)])).toEqual(
      many.map(({ number }) => ["won", `go ${number}`]),
    );
  }, 60_000);

  it("ends by its time", async () => {
    const never = { seconds: 1, function: () => new Promise<number>(() => {}) };
    const { all } = await played(never, [1]);
    expect(all[0]!.status).toBe("timeout");
  });
});

describe("a command", () => {
  const script = (name: string, body: string): [string, string] => {
    mkdirSync(folder, { recursive: true });
    const file = join(folder, name);
    writeFileSync(
      file,
      `const task = JSON.parse(process.env.OPENMANUS_TASK);
      const ask = async () => (await fetch(process.env.OPENAI_BASE_URL + "/chat/completions", {
        method: "POST", headers: { "content-type": "application/json" },
        body: JSON.stringify({ messages: [{ role: "user", content: "go" }] }) })).json();
      ${body}`,
    );
    return [process.execPath, file];
  };

  it("is started for each episode, and says its reward in its last line", async () => {
    const command = script(
      "agent.mjs",
      `console.log("hello \\u001b[31m", process.env.ANTHROPIC_BASE_URL, "{");
      const { choices } = await ask();
      console.log(JSON.stringify({ reward: task.data.number / 10, output: choices[0].message.content }));`,
    );
    const { all } = await played({ command });
    expect(all.map(({ reward }) => reward)).toEqual([0, 0.1, 0.2, 0.3, 0.4, 0.5]);
    expect(all.every(({ turns }) => turns.length === 1)).toBe(true);
  });

  it("that hangs, crashes, talks too much or leaves children is ended with all of them", async () => {
    const command = script(
      "broken.mjs",
      `await ask();
      const { spawn } = await import("node:child_process");
      if (task.data.number === 0) process.exit(3);
      if (task.data.number === 1) await new Promise((r) => setTimeout(r, 1e6));
      if (task.data.number === 2) for (;;) if (!process.stdout.write("x".repeat(65536))) await new Promise((r) => process.stdout.once("drain", r));
      if (task.data.number === 3) process.kill(process.pid, "SIGKILL");
      if (task.data.number === 4) spawn("sleep", ["1000"], { stdio: "inherit" }).unref();
      console.log('{"reward": 1}');`,
    );
    const { all } = await played({ command }, [0, 2, 3, 4, 5]);
    expect(all.map(({ status }) => status)).toEqual([
      ...["environment error", "environment error", "environment error", "won", "won"],
    ]);
    expect(all[0]!.error).toMatch(/code 3/);
    expect(all[1]!.error).toMatch(/printed more than/);
    expect(all[2]!.error).toMatch(/SIGKILL/);
    const hung = await played({ command, seconds: 2 }, [1]);
    expect(hung.all[0]!.status).toBe("timeout");
  });

  it("that keeps all memory costs its episode", async () => {
    const [node, file] = script(
      "leaking.mjs",
      `await ask();
      for (const kept = []; task.data.number === 0; ) kept.push(new Array(1e5).fill(kept.length));
      console.log('{"reward": 1}');`,
    );
    const command: [string, ...string[]] = [node, "--max-old-space-size=40", file];
    const { all } = await played({ command, seconds: 60 }, [0, 1, 2]);
    expect(all.map(({ status }) => status)).toEqual(["environment error", "won", "won"]);
    expect(all[0]!.error).toMatch(/SIGABRT|SIGTRAP|code 134/);
  });

  it("that cannot be found is a sentence", async () => {
    const { all } = await played({ command: ["no-such-program-anywhere"] });
    expect(all[0]!.error).toMatch(/cannot be found/);
  });
});

describe("an agent elsewhere", () => {
  it("is sent the task and where the model is", async () => {
    const server = await openServer({
      async handler(request) {
        const { task, base_url, api_key } = (await request.json()) as {
          task: { data: Numbered };
          base_url: string;
          api_key: string;
        };
        if (task.data.number === 5) return Response.json({ detail: "no" }, { status: 500 });
        await talk(base_url, api_key, 1);
        return Response.json({ reward: task.data.number });
      },
    });
    afterAll(() => server.close());
    const { all } = await played({ url: server.url });
    expect(all.map(({ reward }) => reward)).toEqual([0, 1, 2, 3, 4, 0]);
    expect(all[5]!.error).toMatch(/answered 500/);
  });
});

describe("training", () => {
  it.each(["grpo", "gigpo"] as const)(
    "with %s takes programs with branches like any episode",
    async (algorithm) => {
      const world = agentProgram<Numbered>({
        ...{ name: "numbers", tasks: { train: tasks, test: tasks.slice(0, 2) }, maximumCalls: 6 },
        async function(_, { baseURL, apiKey }) {
          const [one, two] = await Promise.all([
            talk(baseURL, apiKey, 2),
            talk(baseURL, apiKey, 1),
          ]);
          return (one.length % 3) + (two.includes("e") ? 1 : 0);
        },
        expert: ({ messages }) => `reply ${messages.length}`,
      });
      const run = await train({
        ...{ world, model, algorithm, iterations: 2, tasks: 2, groupSize: 3, progress: false },
        folder: join(folder, `run-${algorithm}`),
        agent: { replyTokens: 6 },
        validation: { every: 2, tasks: 2 },
        warmStart: { episodes: 4, epochs: 1 },
      });
      expect(run.model).toBeDefined();
    },
    120_000,
  );
});
