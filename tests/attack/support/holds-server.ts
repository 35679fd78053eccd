/**
 * @file A program that uses a tool of an MCP server and then ends as its first word says: by itself, by
 * throwing, or not at all, until somebody ends it. The second word is the server's command line.
 */
import { mcpTools } from "../../../src/environments/tools/mcp/client.ts";

const [ending, server] = process.argv.slice(2);
const [tool] = await mcpTools(server!);
await tool!.execute({});
console.log("ready");
if (ending === "throws") throw new Error("as promised");
if (ending === "exits") process.exit(0);
if (ending === "waits") setInterval(() => {}, 1000);
