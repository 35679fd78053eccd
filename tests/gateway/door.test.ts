/**
 * @file One server for the programs of all runs of a process: it stays when a run ends, knows whose run a session is of, and
 * keeps no process. Another address for every run would be kept by fetch until the process ends.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { programExpertPolicy } from "../../src/gateway/index.ts";
import { byteChat } from "../../src/models/index.ts";
import type { PolicySession } from "../../src/rollout/index.ts";
import { temporaryFolder } from "../rollout/support.ts";

const request = {
  ...{ episode: "0", seed: 1n, limits: { turns: 100 } },
  task: { environment: "none", split: "train", id: "train/0", data: null },
};

/** A run whose model says this, and a session of it. */
async function opened(says: () => Promise<string> | string) {
  const policy = programExpertPolicy(says, byteChat(), 10_000);
  return { policy, session: await policy.session!(request) };
}

async function ask({ baseUrl, apiKey }: Pick<PolicySession, "baseUrl" | "apiKey">) {
  const answer = await fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ messages: [{ role: "user", content: "go" }] }),
  });
  const body = (await answer.json()) as {
    choices?: { message: { content: string } }[];
    error?: { message: string };
  };
  return body.choices?.[0]?.message.content ?? `${answer.status}: ${body.error?.message}`;
}

it("is the same for one run after the other, over connections that were open", async () => {
  const origins = new Set<string>();
  for (let run = 0; run < 50; run++) {
    const { policy, session } = await opened(() => `run ${run}`);
    origins.add(new URL(session.baseUrl).origin);
    // Also when a connection has just been left by the run before.
    expect(await ask(session)).toBe(`run ${run}`);
    await policy.close();
    expect(await ask(session)).toBe("401: there is no such session, or it is over.");
  }
  expect(origins.size).toBe(1);
});

it("tells the sessions of runs apart", async () => {
  const [one, two] = await Promise.all([opened(() => "one"), opened(() => "two")]);
  expect(await Promise.all([ask(one.session), ask(two.session)])).toEqual(["one", "two"]);
  const { origin } = new URL(one.session.baseUrl);
  // By the key alone; and the path says more than the key.
  expect(await ask({ baseUrl: `${origin}/v1`, apiKey: two.session.apiKey })).toBe("two");
  expect(await ask({ ...one.session, apiKey: two.session.apiKey })).toBe("one");
  await one.policy.close();
  expect(await ask(two.session)).toBe("two");
  expect(await ask({ baseUrl: `${origin}/v1`, apiKey: "guessed" })).toMatch(/^401/);
  const strange = await fetch(`${origin}/s/guessed/v1/messages`, {
    ...{ method: "POST", headers: { "content-type": "application/json" }, body: "{}" },
  });
  expect(strange.status).toBe(401);
  expect(await strange.json()).toMatchObject({ type: "error" });
  await two.policy.close();
});

it("answers who still waits when a run ends", { timeout: 20_000 }, async () => {
  const { policy, session } = await opened(() => new Promise<string>(() => {}));
  const waiting = ask(session);
  await new Promise((resolve) => setTimeout(resolve, 300));
  await policy.close();
  expect(await waiting).toMatch(/^500/);
});

it("keeps no process, and no connection does", { timeout: 120_000 }, async () => {
  const script = join(temporaryFolder(), "run.mts");
  const room = (name: string) =>
    JSON.stringify(new URL(`../../src/${name}/index.ts`, import.meta.url));
  writeFileSync(
    script,
    `import { programExpertPolicy } from ${room("gateway")};
    import { byteChat } from ${room("models")};
    const policy = programExpertPolicy(() => "hello", byteChat(), 10_000);
    const { baseUrl } = await policy.session({ episode: "0", seed: 1n, limits: {}, task: { id: "a" } });
    const answer = await fetch(baseUrl + "/chat/completions", {
      method: "POST", headers: { "content-type": "application/json" },
      body: JSON.stringify({ messages: [{ role: "user", content: "go" }] }) });
    console.log(answer.status, (await answer.json()).choices[0].message.content);
    const begun = performance.now();
    process.on("exit", () => console.log(performance.now() - begun));`,
  );
  const tsx = import.meta.resolve("tsx");
  const child = spawn(process.execPath, ["--import", tsx, script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.on("data", (piece: Buffer) => {
    text += piece.toString();
  });
  const [code] = await once(child, "close");
  const [said, milliseconds] = text.trim().split("\n");
  expect([code, said]).toEqual([0, "200 hello"]);
  // Node's servers keep a connection that nobody uses for 5 s.
  expect(Number(milliseconds)).toBeLessThan(3000);
});
