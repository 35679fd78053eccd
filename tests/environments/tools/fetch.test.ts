/**
 * @file Reading pages: against servers of our own that redirect, flood, hang and lie.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isPrivate } from "../../../src/environments/tools/fetch/addresses.ts";
import { pageText } from "../../../src/environments/tools/fetch/page-text.ts";
import { getPage } from "../../../src/environments/tools/fetch/request.ts";
import { fetchTool } from "../../../src/environments/tools/fetch/tool.ts";
import { callTool } from "../../../src/environments/tools/tool.ts";

let server: Server;
let base: string;
let handler: (request: IncomingMessage, response: ServerResponse) => void;

beforeEach(async () => {
  server = createServer((request, response) => handler(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const limits = { time: 20_000, size: 100_000, redirects: 3, isForbidden: () => false };
const answer =
  (body: string | Buffer, headers: Record<string, string> = { "content-type": "text/plain" }) =>
  (_: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(200, headers).end(body);

describe("pages", () => {
  it("come as text, packed or not, in their own letters", async () => {
    handler = answer("hello");
    expect(await getPage(base, limits)).toMatchObject({ status: 200, body: "hello", isCut: false });
    handler = answer(gzipSync("packed"), {
      "content-encoding": "gzip",
      "content-type": "text/plain",
    });
    expect((await getPage(base, limits)).body).toBe("packed");
    handler = answer(Buffer.from([0xe9]), { "content-type": "text/plain; charset=iso-8859-1" });
    expect((await getPage(base, limits)).body).toBe("é");
  });

  it("are found behind redirects, but not behind too many", async () => {
    handler = (request, response) => {
      if (request.url === "/end") answer("there")(request, response);
      else response.writeHead(302, { location: request.url === "/loop" ? "/loop" : "/end" }).end();
    };
    expect(await getPage(`${base}/start`, limits)).toMatchObject({
      ...{ body: "there", url: `${base}/end` },
    });
    await expect(getPage(`${base}/loop`, limits)).rejects.toThrow(/redirects more than 3 times/);
  });

  it.each([
    ["ftp://example.com/", /only http and https/],
    ["file:///etc/passwd", /only http and https/],
    ["javascript:alert(1)", /only http and https/],
    ["nonsense", /is no address/],
    ["http://user:secret@example.com/", /name and password/],
  ])("%s is refused", async (url, message) => {
    await expect(getPage(url, limits)).rejects.toThrow(message);
  });

  it("that are no texts are refused", async () => {
    handler = answer(Buffer.alloc(10), { "content-type": "image/png" });
    await expect(getPage(base, limits)).rejects.toThrow(/image\/png; only texts/);
    handler = answer("no gzip", { "content-encoding": "gzip", "content-type": "text/plain" });
    await expect(getPage(base, limits)).rejects.toThrow();
  });
});

describe("a server that", () => {
  it("sends a gigabyte is cut off", async () => {
    let sent = 0;
    handler = (_, response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      const piece = Buffer.alloc(1 << 20, 120);
      const more = (): void => {
        while (sent < 1024 && !response.destroyed) {
          sent++;
          if (!response.write(piece)) return void response.once("drain", more);
        }
      };
      more();
    };
    const page = await getPage(base, limits);
    expect([page.body.length, page.isCut]).toEqual([100_000, true]);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(sent).toBeLessThan(100);
  });

  it("packs a gigabyte into a megabyte is cut off", async () => {
    const bomb = gzipSync(Buffer.alloc(200 << 20));
    handler = answer(bomb, { "content-encoding": "gzip", "content-type": "text/plain" });
    expect((await getPage(base, limits)).body.length).toBe(100_000);
  });

  it("says nothing, or never ends, is left", async () => {
    handler = () => {};
    await expect(getPage(base, { ...limits, time: 700 })).rejects.toThrow(
      /did not answer within 0.7 s/,
    );
    handler = (_, response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      const timer = setInterval(() => response.write("."), 20);
      response.on("close", () => clearInterval(timer));
    };
    await expect(getPage(base, { ...limits, time: 700 })).rejects.toThrow(
      /did not answer within 0.7 s/,
    );
  });

  it("hangs up, or speaks another language, is an error", async () => {
    handler = (request) => void request.socket.destroy();
    await expect(getPage(base, limits)).rejects.toThrow();
    handler = (request) => void request.socket.end("garbage\r\n\r\n");
    await expect(getPage(base, limits)).rejects.toThrow();
  });

  it("redirects to a forbidden address is not followed there", async () => {
    // As if this one address were public, and all others private.
    const mostly = { ...limits, isForbidden: (address: string) => address !== "127.0.0.1" };
    for (const host of ["127.0.0.2", "10.0.0.1", "[::1]", "169.254.169.254", "2130706434"]) {
      handler = (_, response) =>
        void response.writeHead(302, { location: `http://${host}/secret` }).end();
      await expect(getPage(base, mostly), host).rejects.toThrow(/private address/);
    }
    handler = (_, response) =>
      void response.writeHead(302, { location: "file:///etc/passwd" }).end();
    await expect(getPage(base, mostly)).rejects.toThrow(/only http and https/);
    // A name with several addresses is reached by those that are allowed, or not at all.
    const none = { ...limits, isForbidden: () => true };
    await expect(getPage(base.replace("127.0.0.1", "localhost"), none)).rejects.toThrow(/private/);
  });

  it("is private is not read unless allowed", async () => {
    const strict = { ...limits, isForbidden: isPrivate };
    handler = answer("secret");
    for (const url of [base, base.replace("127.0.0.1", "localhost"), "http://[::1]:1/"])
      await expect(getPage(url, strict), url).rejects.toThrow(/private address/);
    for (const host of [
      "2130706433",
      "0x7f.1",
      "0177.0.0.1",
      "[::ffff:127.0.0.1]",
      "169.254.169.254",
    ])
      await expect(getPage(`http://${host}/`, strict), host).rejects.toThrow(/private address/);
    await expect(getPage(base.replace("127.0.0.1", "localhost"), limits)).resolves.toBeDefined();
  });
});

describe("addresses", () => {
  it.each([
    ...["0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.31.0.1"],
    ...["192.168.1.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "::", "::1", "fe80::1%eth0"],
    ...["fc00::1", "fd12::1", "ff02::1", "::ffff:10.0.0.1", "::ffff:7f00:1", "64:ff9b::7f00:1"],
    ...["2002:7f00:1::", "2001:db8::1", "2001::1", "nonsense", ""],
  ])("%s is private", (address) => {
    expect(isPrivate(address)).toBe(true);
  });
  it.each(["8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8"])(
    "%s is public",
    (address) => {
      expect(isPrivate(address)).toBe(false);
    },
  );
});

describe("a page's text", () => {
  it("is what a reader sees", () => {
    const html = `<!doctype html><html><head><title>A &amp; B</title><style>x{}</style></head><body>
      <script>if (a < b) alert("</p>")</script><h1>Head</h1><p>One <b>two</b>&nbsp;three &#8364; &#x41;</p>
      <!-- <p>hidden</p> --><ul><li>first<li>second</ul><table><tr><td>1</td><td>2</td></tr></table>5 < 6</body>`;
    expect(pageText(html)).toBe("A & B\nHead\nOne two three € A\nfirst\nsecond\n1 2\n5 < 6");
  });

  it("is found at once in any page", () => {
    for (const unit of [
      "<",
      "<p",
      "</script",
      "<script>",
      "<!--",
      "&",
      "&#",
      "<title",
      "< ",
      " ",
      "\n",
    ]) {
      const start = performance.now();
      pageText(`<script>${unit.repeat(1_000_000 / unit.length)}`);
      pageText(unit.repeat(Math.floor(1_000_000 / unit.length)));
      expect(performance.now() - start, unit).toBeLessThan(3000);
    }
  });
});

describe("the tool", () => {
  it("shows text, and tells what went wrong", async () => {
    handler = answer("<p>Hi</p>", { "content-type": "text/html" });
    const open = fetchTool({ isForbidden: () => false });
    expect(await callTool(open, { url: base }, 1000)).toEqual({ text: "Hi", failed: false });
    handler = (_, response) =>
      void response.writeHead(404, { "content-type": "text/plain" }).end("no");
    expect((await callTool(open, { url: base }, 1000)).text).toMatch(/status 404\)\nno/);
    const strict = await callTool(fetchTool(), { url: base }, 1000);
    expect(strict).toMatchObject({ failed: true, text: expect.stringMatching(/private address/) });
  });
});
