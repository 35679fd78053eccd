/**
 * @file What a foreign answer may cost: bytes and time are bounded, whatever comes, and the connection is
 * closed on every way out.
 */
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import {
  type Answer,
  ExchangeError,
  type ExchangeLimits,
  exchange,
} from "../../src/network/index.ts";
import { drip, flood, type RawServer, rawServer } from "./sockets.ts";

const HEAD = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n";
const limits: ExchangeLimits = { time: 20_000, size: 1000 };

async function failure(run: Promise<unknown>): Promise<ExchangeError> {
  const error = await run.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ExchangeError);
  return error as ExchangeError;
}

/** An address where nobody listens any more. */
async function closedPort(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}/`;
}

const wholeText = (answer: Answer) => answer.text();

/** Nothing may hold on to a server that we have no more to do with. */
async function expectClosed(server: RawServer): Promise<void> {
  await expect.poll(() => server.open, { timeout: 5000 }).toBe(0);
}

describe("an answer", () => {
  it("is read whole, with its status and headers", async () => {
    const server = await rawServer((socket) =>
      socket.end(`${HEAD}x-more: yes\r\ncontent-length: 5\r\n\r\nhello`),
    );
    const found = await exchange({ url: server.url, limits }, async (answer) => ({
      ...{ status: answer.status, ok: answer.ok, redirect: answer.redirect },
      ...{ more: answer.headers.get("x-more"), text: await answer.text() },
    }));
    expect(found).toEqual({ status: 200, ok: true, redirect: null, more: "yes", text: "hello" });
  });

  it("may be looked at only at its beginning", async () => {
    const server = await rawServer((socket) => {
      socket.write(`${HEAD}\r\n`);
      flood(socket, "x".repeat(65_536));
    });
    const { bytes, isCut } = await exchange(
      { url: server.url, limits: { ...limits, size: Infinity } },
      (answer) => answer.beginning(100),
    );
    expect([bytes.length, isCut]).toEqual([100, true]);
    await expectClosed(server);
  });

  it("to a file that is sent: with its length, and whole", async () => {
    const server = createHttpServer(async (request, response) => {
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece as Buffer);
      response.end(`${request.headers["content-length"]} ${Buffer.concat(pieces).toString()}`);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const body = new Blob(["a ", "file ", "to its end"]).slice(2);
    const request = { url: `http://127.0.0.1:${port}/`, method: "PUT", body, limits };
    expect(await exchange(request, wholeText)).toBe("15 file to its end");
    server.closeAllConnections();
    server.close();
  });

  it("that redirects is not followed, and says where to", async () => {
    const target = await rawServer((socket) => socket.end(`${HEAD}\r\nhello`));
    const server = await rawServer((socket) =>
      socket.end(`HTTP/1.1 307 Elsewhere\r\nlocation: ${target.url}\r\ncontent-length: 0\r\n\r\n`),
    );
    const redirect = await exchange({ url: server.url, limits }, (answer) => answer.redirect);
    expect(redirect).toBe(target.url);
    expect(target.asked).toBe(0);
  });
});

describe("an answer without end", () => {
  it.each<[string, string, string | Buffer]>([
    ["in one piece after the other", `${HEAD}\r\n`, "x".repeat(65_536)],
    [
      "in chunks",
      `${HEAD}transfer-encoding: chunked\r\n\r\n`,
      `10000\r\n${"x".repeat(0x10000)}\r\n`,
    ],
    ["that was announced", `${HEAD}content-length: 99999999999\r\n\r\n`, "x".repeat(65_536)],
  ])("%s is cut off", async (_, head, piece) => {
    const server = await rawServer((socket) => {
      socket.write(head);
      flood(socket, piece);
    });
    const error = await failure(exchange({ url: server.url, limits }, wholeText));
    expect(error).toMatchObject({ kind: "large", begun: true });
    expect(error.message).toBe("the answer has more than 1000 bytes");
    await expectClosed(server);
  });

  it("that is small only on the way is counted unpacked", async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    const server = await rawServer((socket) => {
      socket.write(`${HEAD}content-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`);
      socket.end(bomb);
    });
    const before = process.memoryUsage().rss;
    expect(await failure(exchange({ url: server.url, limits }, wholeText))).toMatchObject({
      kind: "large",
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(30_000_000);
  });

  it("of headers is cut off", async () => {
    const server = await rawServer((socket) => {
      socket.write(HEAD);
      flood(socket, `x-more: ${"y".repeat(1000)}\r\n`);
    });
    const error = await failure(exchange({ url: server.url, limits }, wholeText));
    expect(error).toMatchObject({ kind: "large", begun: false });
    expect(error.message).toMatch(/headers have more than 16 KB/);
    await expectClosed(server);
  });
});

describe("the deadline", () => {
  const hasty = { time: 400, size: 1000 };

  it.each<[string, (socket: Socket) => void, boolean]>([
    ["nothing comes", () => {}, false],
    [
      "headers drip",
      (socket) => {
        socket.write(HEAD);
        drip(socket, 30, "a: b\r\n");
      },
      false,
    ],
    [
      "the body drips",
      (socket) => {
        socket.write(`${HEAD}\r\n`);
        drip(socket, 30, "x");
      },
      true,
    ],
  ])("ends it when %s", async (_, answer, begun) => {
    const server = await rawServer(answer);
    const start = performance.now();
    const error = await failure(exchange({ url: server.url, limits: hasty }, wholeText));
    expect(error).toMatchObject({ kind: "late", begun });
    expect(error.message).toBe("the answer was not complete within 0.4 s");
    expect(performance.now() - start).toBeLessThan(5000);
    await expectClosed(server);
  });

  it("is not moved by pieces that come in time, and silence ends it earlier", async () => {
    const dripping = await rawServer((socket) => {
      socket.write(`${HEAD}\r\n`);
      drip(socket, 30, "x");
    });
    const both = { time: 700, silence: 5000, size: 1000 };
    expect((await failure(exchange({ url: dripping.url, limits: both }, wholeText))).kind).toBe(
      "late",
    );
    const silent = await rawServer((socket) => socket.write(`${HEAD}\r\nx`));
    const quiet = { time: 60_000, silence: 300, size: 1000 };
    const error = await failure(exchange({ url: silent.url, limits: quiet }, wholeText));
    expect(error).toMatchObject({ kind: "silent", message: "nothing came for 0.3 s" });
    await expectClosed(silent);
  });

  it("leaves time to an answer that is only slow", async () => {
    const server = await rawServer((socket) => {
      socket.write(`${HEAD}content-length: 5\r\n\r\n`);
      for (const i of [0, 1, 2, 3, 4]) setTimeout(() => socket.write(String(i)), 100 * i);
    });
    const patient = { time: 30_000, silence: 20_000, size: 1000 };
    expect(await exchange({ url: server.url, limits: patient }, wholeText)).toBe("01234");
  });
});

describe("what goes wrong", () => {
  it("at the connection is told with the system's words", async () => {
    const server = await rawServer((socket) => socket.destroy());
    const error = await failure(exchange({ url: server.url, limits }, wholeText));
    expect(error).toMatchObject({ kind: "connection", begun: false });
    const nobody = await failure(exchange({ url: await closedPort(), limits }, wholeText));
    expect(nobody.code).toBe("ECONNREFUSED");
    expect(nobody.message).toMatch(/ECONNREFUSED/);
    const half = await rawServer((socket) => socket.end(`${HEAD}content-length: 9\r\n\r\nhalf`));
    expect(await failure(exchange({ url: half.url, limits }, wholeText))).toMatchObject({
      ...{ kind: "connection", begun: true },
    });
  });

  it.each(["no HTTP at all\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "\0\0\0\0"])(
    "an answer like %j is no answer",
    async (bytes) => {
      const server = await rawServer((socket) => socket.end(bytes));
      const error = await failure(exchange({ url: server.url, limits }, wholeText));
      expect(error.kind).toBe("connection");
    },
  );

  it("in the caller's own hands stays as it is, and ends the connection", async () => {
    const server = await rawServer((socket) => {
      socket.write(`${HEAD}\r\n`);
      drip(socket, 20, "x");
    });
    const own = new Error("of the caller");
    const reading = exchange({ url: server.url, limits }, async (answer) => {
      for await (const _ of answer.pieces()) throw own;
    });
    await expect(reading).rejects.toBe(own);
    await expectClosed(server);
  });

  it("by the signal is the signal's reason", async () => {
    const server = await rawServer(() => {});
    const stop = new AbortController();
    const reason = new Error("enough");
    const asking = exchange({ url: server.url, signal: stop.signal, limits }, wholeText);
    setTimeout(() => stop.abort(reason), 50);
    await expect(asking).rejects.toBe(reason);
    await expectClosed(server);
    await expect(
      exchange({ url: server.url, signal: stop.signal, limits }, wholeText),
    ).rejects.toBe(reason);
    expect(server.asked).toBe(1);
  });
});
