/**
 * @file Names that lie about where they are, with a name service of the test's own: one that says another address the second
 * time it is asked (rebinding), one with a private address among public ones, and spellings of private addresses.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

type Answer = (error: Error | null, addresses: { address: string; family: number }[]) => void;

/** What the name service says, one answer for each question; the last one again and again. */
let answers: string[][];
let asked: string[];
vi.mock("node:dns", async (original) => ({
  ...(await original<typeof import("node:dns")>()),
  lookup(name: string, _: object, done: Answer) {
    asked.push(name);
    const found = answers.length > 1 ? answers.shift()! : answers[0]!;
    done(
      null,
      found.map((address) => ({ address, family: 4 })),
    );
  },
}));
const { getPage } = await import("../../../src/environments/tools/fetch/request.ts");
const { isPrivate } = await import("../../../src/environments/tools/fetch/addresses.ts");

let server: Server;
let url: string;
let served: string[];
let location: string | undefined;
beforeEach(async () => {
  [asked, served, location] = [[], [], undefined];
  server = createServer((request, response) => {
    served.push(request.url!);
    if (location === undefined) response.writeHead(200, { "content-type": "text/plain" }).end("!");
    else response.writeHead(302, { location }).end();
    location = undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://public.example:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** As if this one address were public, and all others private. */
const limits = {
  ...{ time: 20_000, size: 1000, redirects: 3 },
  isForbidden: (address: string) => address !== "127.0.0.1",
};

it("a name is looked up once for each page: what is checked is what is asked", async () => {
  answers = [["127.0.0.1"], ["10.0.0.1"]];
  await expect(getPage(url, limits)).resolves.toMatchObject({ status: 200 });
  expect(asked).toEqual(["public.example"]);
});

it("a name that has become another's is not followed to, behind a redirect either", async () => {
  answers = [["127.0.0.1"], ["10.0.0.1"]];
  location = `${url}/again`;
  await expect(getPage(url, limits)).rejects.toThrow(/public\.example is a private address/);
  expect(asked).toHaveLength(2);
  expect(served).toEqual(["/"]);
});

it("of several addresses only those are asked that may be", async () => {
  answers = [["10.0.0.1", "127.0.0.1", "169.254.169.254"]];
  await expect(getPage(url, limits)).resolves.toMatchObject({ status: 200 });
  answers = [["10.0.0.1", "169.254.169.254"]];
  await expect(getPage(url, limits)).rejects.toThrow(/private address/);
  expect(served).toHaveLength(1);
});

it.each([
  "127.0.0.1.example",
  "localhost.",
  "①②⑦.⓪.⓪.①",
  "127。0。0。1",
  "0x7f000001",
  "017700000001",
])("http://%s/ that means this machine is not read", async (host) => {
  answers = [["127.0.0.1"]];
  const port = new URL(url).port;
  const strict = { ...limits, isForbidden: isPrivate };
  await expect(getPage(`http://${host}:${port}/`, strict)).rejects.toThrow(/private address/);
  expect(served).toEqual([]);
});
