/**
 * @file A server of the Model Context Protocol that answers every request, and does what its first word
 * says besides. Its second word is a file for the process number of a program that it starts.
 */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [behaviour, file] = process.argv.slice(2);
const NOTIFICATION = `${JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params: { data: "x".repeat(1000) } })}\n`;

if (behaviour === "grandchild") {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  writeFileSync(file, String(child.pid));
}

function toolsOf() {
  const plain = { name: "say", description: "Says.", inputSchema: { type: "object" } };
  switch (behaviour) {
    case "many":
      return { tools: Array.from({ length: 200_000 }, (_, i) => ({ name: `t${i}` })) };
    case "schema":
      return { tools: [{ ...plain, inputSchema: { enum: ["x".repeat(5_000_000)] } }] };
    case "deep":
      return `{"tools":[{"name":"say","inputSchema":{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}}]}`;
    case "schemas":
      return {
        tools: Array.from({ length: 900 }, (_, i) => ({
          name: `t${i}`,
          inputSchema: { description: "x".repeat(9000) },
        })),
      };
    case "description":
      return { tools: [{ ...plain, description: "x".repeat(5_000_000) }] };
    case "pages":
      return { tools: [plain], nextCursor: "again" };
    default:
      return { tools: [plain] };
  }
}

function answerTo({ method, params }) {
  if (method === "tools/list") return toolsOf();
  if (method !== "tools/call") return {};
  return { content: [{ type: "text", text: String(params.arguments.text ?? "said") }] };
}

/** As fast as it is read, for ever. */
function pour(text) {
  while (process.stdout.write(text));
  process.stdout.once("drain", () => pour(text));
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.id === undefined || message.method === undefined) return;
  const result = answerTo(message);
  const text = typeof result === "string" ? result : JSON.stringify(result);
  const error = behaviour === "null" ? ',"error":null' : "";
  const answer = `{"jsonrpc":"2.0","id":${message.id},"result":${text}${error}}\n`;
  if (message.method !== "tools/call") return void process.stdout.write(answer);
  if (behaviour === "bytes")
    return void process.stdout.write(
      Buffer.concat([
        Buffer.from([0xff, 0xfe, 10, 0xc3, 10]),
        Buffer.from(answer.replace("said", "sa@id")).map((byte) => (byte === 64 ? 0xff : byte)),
      ]),
    );
  if (behaviour === "line") pour("x".repeat(1 << 20));
  else if (behaviour === "notifications") pour(NOTIFICATION.repeat(100));
  else if (behaviour === "pings")
    pour(`{"jsonrpc":"2.0","id":"${"i".repeat(100_000)}","method":"ping"}\n`);
  else process.stdout.write(answer);
  if (behaviour === "pings") process.stdin.pause();
});
