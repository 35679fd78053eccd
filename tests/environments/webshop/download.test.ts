/**
 * @file `data get webshop`, against a server of our own.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DATASETS, EnvironmentError, openWorld } from "../../../src/environments/index.ts";
import { FILES } from "./material.ts";

let folder: string;
let server: Server;
let url: string;
let asked: string[];
/** What is served in place of a file. */
let instead: string | undefined;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "webshop-get-"));
  asked = [];
  instead = undefined;
  server = createServer((request, response) => {
    asked.push(request.url!);
    const name = request.url!.split("/").at(-1)! as keyof typeof FILES;
    if (!(name in FILES)) response.writeHead(404).end();
    else response.end(instead ?? JSON.stringify(FILES[name]));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/files/`;
});
afterEach(async () => {
  rmSync(folder, { recursive: true, force: true });
  await new Promise((resolve) => server.close(resolve));
});

const get = (to = join(folder, "webshop")): Promise<string> =>
  DATASETS.webshop!.get({ url, folder: to });

describe("data get webshop", () => {
  it("fetches what is missing, verifies it, and the world finds it", async () => {
    const to = join(folder, "webshop");
    expect(await get()).toMatch(/^3 products and 6 synthetic goals in .*webshop\.$/);
    expect(readdirSync(to).sort()).toEqual(["download.json", ...Object.keys(FILES)].sort());
    const record = JSON.parse(readFileSync(join(to, "download.json"), "utf8"));
    expect(record["items_human_ins.json"].sha256).toMatch(/^[0-9a-f]{64}$/);
    const world = await openWorld("webshop", { data: to });
    expect(world.source).toMatch(/^3 products and 6 synthetic goals/);
    expect(asked.length).toBe(3);
    expect(await get()).toMatch(/already has them: 3 products/);
    rmSync(join(to, "items_human_ins.json"));
    await get();
    expect(asked.slice(3)).toEqual(["/files/items_human_ins.json"]);
  });

  it("asks by id or name where the address says so", async () => {
    url = `${url}{id}/{name}`;
    await get();
    expect(asked[0]).toMatch(/^\/files\/[\w-]{33}\/items_shuffle_1000\.json$/);
  });

  it("says what to do when a page comes in place of a file", async () => {
    instead = "<!DOCTYPE html><html>quota</html>";
    await expect(get()).rejects.toThrow(EnvironmentError);
    await expect(get()).rejects.toThrow(
      /no JSON but probably a page.*drive\.google\.com\/file\/d\//s,
    );
    expect(existsSync(join(folder, "webshop", "items_shuffle_1000.json"))).toBe(false);
  });

  it("says what is wrong with files that are there", async () => {
    instead = "[]";
    await expect(get()).rejects.toThrow(
      /items_human_ins\.json cannot be used: \[\] is no object.*Remove the file/s,
    );
    writeFileSync(join(folder, "webshop", "items_ins_v2_1000.json"), JSON.stringify({}));
    writeFileSync(join(folder, "webshop", "items_human_ins.json"), JSON.stringify({}));
    await expect(get()).rejects.toThrow(/has no products with goals/);
  });

  it("says that an address is wrong", async () => {
    url = `${url}nowhere/{id}`;
    await expect(get()).rejects.toThrow(/answered 404.*--url/s);
  });
});
