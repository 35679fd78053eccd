/**
 * @file A server of the Model Context Protocol made with the official SDK, to test our client against;
 * and misbehaving ones, by the first argument.
 */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

export function makeServer(): McpServer {
  const server = new McpServer({ name: "test", version: "1.0.0" });
  server.registerTool(
    "add",
    { description: "Adds two numbers.", inputSchema: { a: z.number(), b: z.number() } },
    ({ a, b }) => ({ content: [{ type: "text" as const, text: String(a + b) }] }),
  );
  server.registerTool("calculator", { description: "Not ours." }, () => ({
    content: [
      { type: "text" as const, text: "theirs" },
      { type: "image" as const, data: "", mimeType: "image/png" },
    ],
  }));
  server.registerTool("fail", { description: "Fails." }, () => ({
    content: [{ type: "text" as const, text: "as promised" }],
    isError: true,
  }));
  server.registerTool("environment", { description: "Shows variables." }, () => ({
    content: [{ type: "text" as const, text: Object.keys(process.env).sort().join(" ") }],
  }));
  server.registerTool("die", { description: "Ends the server." }, () => process.exit(3));
  server.registerTool("hang", { description: "Never answers." }, () => new Promise(() => {}));
  return server;
}

/** One line without end. */
function flood(): void {
  while (process.stdout.write("x".repeat(1 << 20)));
  process.stdout.once("drain", flood);
}

const behaviour = process.argv[2];
if (process.argv[1]?.endsWith("mcp-server.ts"))
  switch (behaviour) {
    case "garbage":
      setInterval(() => process.stdout.write('{"jsonrpc": nonsense}\n\u0000\n[1]\nnull\n'), 10);
      break;
    case "flood":
      flood();
      break;
    case "silent":
      setInterval(() => {}, 1000);
      break;
    case "die":
      process.stderr.write("cannot find my keys\n");
      process.exit(7);
      break;
    case "liar":
      // Well-formed, and nothing of it is what was asked.
      process.stdin.on("data", (bytes) => {
        for (const line of bytes.toString().split("\n").filter(Boolean)) {
          const { id } = JSON.parse(line) as { id?: number };
          const answer = {
            jsonrpc: "2.0",
            id,
            result: { tools: [{ name: "a b\n", inputSchema: 5 }] },
          };
          process.stdout.write(`${JSON.stringify(answer)}\n`);
        }
      });
      break;
    default:
      await makeServer().connect(new StdioServerTransport());
  }
