/**
 * @file A server of the Model Context Protocol with one tool, which writes a file: what an attack on a
 * served world would like to use.
 */
import { writeFileSync } from "node:fs";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "writing", version: "1.0.0" });
server.registerTool(
  "write",
  { description: "Writes a file.", inputSchema: { path: z.string(), text: z.string() } },
  ({ path, text }) => {
    writeFileSync(path, text);
    return { content: [{ type: "text" as const, text: "written" }] };
  },
);
await server.connect(new StdioServerTransport());
