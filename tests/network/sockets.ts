/**
 * @file Bare sockets: what a client sends byte by byte, and a server that answers with whatever bytes a
 * test likes.
 */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

export interface RawAnswer {
  /** NaN where nothing came that looks like an answer. */
  readonly status: number;
  readonly text: string;
  /** Whether the server ended the connection. */
  readonly ended: boolean;
}

/** Sends the text and reads until the server ends the connection, or `wait` milliseconds have passed. */
export async function sendRaw(
  port: number,
  text: string | Buffer,
  wait = 5000,
): Promise<RawAnswer> {
  const socket = connect(port, "127.0.0.1");
  const pieces: Buffer[] = [];
  const ended = await new Promise<boolean>((resolve) => {
    const clock = setTimeout(resolve, wait, false);
    socket.on("data", (piece: Buffer) => void pieces.push(piece));
    socket.on("error", () => {});
    socket.once("close", () => {
      clearTimeout(clock);
      resolve(true);
    });
    socket.write(text);
  });
  socket.destroy();
  const received = Buffer.concat(pieces).toString();
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(received)?.[1] ?? Number.NaN);
  return { status, text: received, ended };
}

/** A request with these headers besides Host, and that asks for the connection to be closed. */
export function rawRequest(
  port: number,
  line: string,
  headers: Readonly<Record<string, string>> = {},
  body = "",
): string {
  const all = {
    host: `127.0.0.1:${port}`,
    connection: "close",
    ...(body !== "" && { "content-length": String(Buffer.byteLength(body)) }),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}

export interface RawServer {
  readonly url: string;
  readonly port: number;
  /** How many connections have asked for something, and how many of those are open. */
  readonly asked: number;
  readonly open: number;
}

/** `answer` is called for every connection, when its first bytes have come. */
export async function rawServer(answer: (socket: Socket) => unknown): Promise<RawServer> {
  const sockets = new Set<Socket>();
  /** Node's fetch replaces a connection that was aborted by one on which it says nothing. */
  const asking = new Set<Socket>();
  let asked = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => {
      sockets.delete(socket);
      asking.delete(socket);
    });
    socket.once("data", () => {
      asked++;
      asking.add(socket);
      answer(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return {
    ...{ url: `http://127.0.0.1:${port}/`, port },
    get asked() {
      return asked;
    },
    get open() {
      return asking.size;
    },
  };
}

/** Writes the same bytes again and again, as fast as they are taken. */
export function flood(socket: Socket, bytes: string | Buffer): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(bytes));
    if (!socket.destroyed) socket.once("drain", more);
  };
  more();
}

/** Writes one piece after the other, so many milliseconds apart. */
export function drip(socket: Socket, milliseconds: number, piece: string): void {
  const clock = setInterval(() => socket.write(piece), milliseconds);
  socket.once("close", () => clearInterval(clock));
}
