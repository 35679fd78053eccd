/**
 * @file Tools from MCP servers: the official SDK's over standard input and output and over HTTP, and
 * servers that die, hang, flood and lie.
 */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { afterEach, describe, expect, it } from "vitest";
import { openWorld } from "../../../src/environments/index.ts";
import { mcpTools } from "../../../src/environments/tools/mcp/client.ts";
import { callTool, type Tool } from "../../../src/environments/tools/tool.ts";
import { makeServer } from "./mcp-server.ts";

const command = (behaviour = ""): string =>
  `"${process.execPath}" --import tsx tests/environments/tools/mcp-server.ts ${behaviour}`;

const opened: Tool[] = [];
const servers: Server[] = [];
afterEach(async () => {
  for (const tool of opened.splice(0)) await tool.close?.();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** The tools of a server, each callable by its name. */
async function connected(server: string, limits = {}) {
  const tools = await mcpTools(server, limits);
  opened.push(...tools);
  return async (name: string, given: Record<string, unknown> = {}) =>
    callTool(tools.find((tool) => tool.name === name)!, given, 10_000);
}

async function listening(server: Server): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

describe("a server that is a program", () => {
  it("offers its tools, checked by their schema", async () => {
    const call = await connected(command());
    expect(await call("add", { a: 2, b: 3.5 })).toEqual({ text: "5.5", failed: false });
    expect((await call("add", { a: "2", b: 3 })).text).toMatch(/"a" must be of type number/);
    expect(await call("fail")).toEqual({ text: "fail failed: as promised", failed: true });
    expect((await call("calculator")).text).toBe("theirs\n(image, image/png: cannot be shown)");
    process.env.OPENMANUS_TEST_SECRET = "x";
    expect((await call("environment")).text).not.toMatch(/SECRET/);
  });

  it("that dies or hangs in a call is told, and is started again for the next", async () => {
    const call = await connected(command());
    expect((await call("die")).text).toMatch(/die failed: the server ended \(exit code 3\)/);
    expect(await call("add", { a: 1, b: 2 })).toEqual({ text: "3", failed: false });
    const hasty = await connected(command(), { call: 700 });
    expect((await hasty("hang")).text).toMatch(
      /hang failed: the server did not answer within 0.7 s/,
    );
  });

  it.each([
    ["die", /the server ended \(exit code 7\); its last words: cannot find my keys/],
    ["garbage", /did not answer within/],
    ["silent", /did not answer within/],
    ["flood", /sent a line without end|did not answer within/],
    ["liar", /lists a tool whose name is "a b/],
  ])("that is a %s is refused with the reason", async (behaviour, message) => {
    const start = behaviour === "die" || behaviour === "liar" ? 20_000 : 2500;
    await expect(mcpTools(command(behaviour), { start })).rejects.toThrow(message);
  });

  it("must exist", async () => {
    await expect(mcpTools("/nowhere/at-all")).rejects.toThrow(/could not be started/);
    await expect(mcpTools("")).rejects.toThrow(/neither an address nor a command/);
    await expect(mcpTools("http://127.0.0.1:1/mcp")).rejects.toThrow(/cannot be reached/);
  });
});

describe("a server behind HTTP", () => {
  it.each([[true], [false]])("offers its tools (answers as JSON: %s)", async (json) => {
    const url = await listening(
      createServer(async (request, response) => {
        // Stateless: a server and a transport for each message.
        const transport = new StreamableHTTPServerTransport({ enableJsonResponse: json });
        await makeServer().connect(transport as Transport);
        await transport.handleRequest(request, response);
      }),
    );
    const call = await connected(url);
    expect(await call("add", { a: 40, b: 2 })).toEqual({ text: "42", failed: false });
    expect((await call("fail")).text).toBe("fail failed: as promised");
    const hasty = await connected(url, { call: 700 });
    expect((await hasty("hang")).text).toMatch(/did not answer within 0.7 s/);
  });

  it.each([
    ["500", (r: ServerResponse) => void r.writeHead(500).end("oops"), /answered 500: oops/],
    ["nonsense", (r: ServerResponse) => void r.end("<html>"), /no answer that can be read/],
    ["silence", () => {}, /did not answer within 1 s/],
    [
      "a flood of events",
      (r: ServerResponse) => {
        r.writeHead(200, { "content-type": "text/event-stream" });
        const more = (): void => {
          while (!r.destroyed && r.write(`data: ${"x".repeat(1 << 20)}\n\n`));
          if (!r.destroyed) r.once("drain", more);
        };
        more();
      },
      /too long/,
    ],
    [
      "a redirect",
      (r: ServerResponse) => void r.writeHead(307, { location: "http://127.0.0.1:1/" }).end(),
      /cannot be reached/,
    ],
  ])("that answers with %s is refused", async (what, handle, message) => {
    const start = what === "silence" ? 1000 : 20_000;
    const url = await listening(createServer((_, response) => handle(response)));
    await expect(mcpTools(url, { start })).rejects.toThrow(message);
  });
});

describe("in the world", () => {
  it("they stand beside ours, renamed where a name is taken", async () => {
    const world = await openWorld("tools", { mcp: [command()], tools: ["calculator"] });
    const names = world.tools!.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(["calculator", "server1_calculator", "add", "answer"]),
    );
    const environment = world.environment();
    await environment.reset((await world.tasks("train")).task(0));
    const { observation } = await environment.step(
      '{"name": "server1_calculator", "arguments": {}}',
    );
    expect(observation.text).toMatch(/^theirs/);
    await world.close!();
    expect(
      (await environment.step('{"name": "add", "arguments": {"a": 1, "b": 1}}')).observation.text,
    ).toMatch(/closed/);
  });

  it("a server that does not work is an error at once", async () => {
    await expect(openWorld("tools", { mcp: [command("die")] })).rejects.toThrow(
      /the MCP server .* offers no tools/,
    );
  });
});
