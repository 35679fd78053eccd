/**
 * @file Hubs that mean no good, met by the real command in a process of its own: it ends soon, with a sentence and
 * without the memory that the hub would have liked to fill, tells nobody the token, and when it is killed, goes on.
 */
import { once } from "node:events";
import { existsSync, readdirSync, statSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Fault, sha256 } from "../models/hub/fake-hub.ts";
import { hubWithModel, modelFiles, NAME, TOKEN } from "../models/hub/support.ts";
import { run, start } from "./command.ts";

function flood(response: ServerResponse, piece: string): void {
  const more = (): void => {
    while (!response.destroyed && response.write(piece));
    if (!response.destroyed) response.once("drain", more);
  };
  more();
}

async function fetched(variables: Readonly<Record<string, string>>) {
  const online = { HF_HUB_OFFLINE: "", HF_TOKEN: TOKEN, ...variables };
  const { code, out, errors, memory } = await run(["model", "fetch", NAME], online);
  const text = `${out}${errors}`;
  expect(text).not.toContain(TOKEN);
  return { code, text, memory };
}

describe("model fetch", () => {
  it.each<[string, Fault, RegExp]>([
    [
      "a list without end",
      (_, response, { path }) => {
        if (!path.includes("/tree/")) return false;
        response.write("[");
        flood(response, `${JSON.stringify({ type: "file", path: "x".repeat(60_000) })},`);
        return true;
      },
      /the answer has more than 32 MB/,
    ],
    [
      "a file without end",
      (_, response, { host }) => {
        if (host !== "store") return false;
        flood(response.writeHead(200), "x".repeat(65_536));
        return true;
      },
      /the Hub lists \d+ bytes, but more is sent\. It was not kept/,
    ],
    [
      "a redirect to where everybody's token would be welcome",
      (_, response, { host }) =>
        host === "store" && Boolean(response.writeHead(200, { "content-length": 2 }).end("no")),
      /lists \d+ bytes, but 2 bytes are announced/,
    ],
  ])("%s", { timeout: 90_000 }, async (_, fault, sentence) => {
    const { hub, variables, place, commit } = await hubWithModel();
    hub.fault = fault;
    const { code, text, memory } = await fetched(variables);
    expect(text).toMatch(sentence);
    expect(text).not.toMatch(/ at .*\.ts/);
    expect(code).toBe(1);
    expect(memory).toBeLessThan(350);
    const told = hub.seen.filter(({ headers }) => headers.authorization !== undefined);
    expect(new Set(told.map(({ host }) => host))).toEqual(new Set(["hub"]));
    expect(existsSync(join(place, "snapshots", commit))).toBe(false);
  });

  it("killed in the middle, and begun again", { timeout: 90_000 }, async () => {
    const { hub, variables, place } = await hubWithModel();
    const weights = modelFiles()["model.safetensors"]!;
    hub.fault = (_, response, { host }) => {
      if (host !== "store") return false;
      response.writeHead(200, { "content-length": weights.length });
      response.write(weights.subarray(0, 1000));
      return true;
    };
    const part = join(place, "blobs", `${sha256(weights)}.openmanus-rl.incomplete`);
    const command = start(["model", "fetch", NAME], { HF_HUB_OFFLINE: "", ...variables });
    while (!existsSync(part) || statSync(part).size < 1000)
      await new Promise((resolve) => setTimeout(resolve, 50));
    command.child.kill("SIGKILL");
    await once(command.child, "close");
    expect(readdirSync(place)).toEqual(["blobs"]);
    hub.fault = () => false;
    const { code, text } = await fetched(variables);
    expect(code, text).toBe(0);
    expect(hub.seen.at(-1)!.headers.range).toBe("bytes=1000-");
    expect(existsSync(part)).toBe(false);
  });

  it("interrupted: exit code 130, and a word", { timeout: 90_000 }, async () => {
    const { hub, variables } = await hubWithModel();
    hub.fault = (_, response, { host }) => {
      if (host !== "store") return false;
      response.writeHead(200).write("x");
      return true;
    };
    const command = start(["model", "fetch", NAME], { HF_HUB_OFFLINE: "", ...variables });
    while (!hub.seen.some(({ host }) => host === "store"))
      await new Promise((resolve) => setTimeout(resolve, 50));
    command.child.kill("SIGINT");
    const [code] = (await once(command.child, "close")) as [number | null];
    expect(code).toBe(130);
    expect(command.errors()).toMatch(/interrupted while tiny-org\/tiny-model was fetched/);
  });
});
