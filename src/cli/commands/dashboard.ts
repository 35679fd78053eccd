/**
 * @file `openmanus-rl dashboard`: run folders as a page in the browser, until it is stopped.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { parseOverrides, type Settings } from "../../config/index.ts";
import { serveDashboard } from "../../dashboard/index.ts";
import { keyAt, NetworkError } from "../../network/index.ts";
import { settingsAndOptions } from "../arguments/settings.ts";
import { UsageError, wholeNumber } from "../arguments/usage.ts";
import type { Command } from "../main.ts";
import { interruptible } from "../support/interrupt.ts";
import { print, printError } from "../support/print.ts";

/** Where `train` puts runs. */
const RUNS = "runs";
const PORT = 6007;

const help = [
  "Usage: openmanus-rl dashboard [FOLDER …] [--port N] [--host ADDRESS] [--open] [--play]",
  "",
  "Shows runs in the browser, live while they train: curves, episodes, and every token with what the update knew",
  "of it. FOLDER is a run, or a folder in which runs lie (default: runs). It only reads; nothing can be changed",
  "through it. Only this machine can see it unless --host says otherwise.",
  "",
  `  --port N          default ${PORT}; 0: any that is free`,
  "  --host ADDRESS    default 127.0.0.1",
  "  --api-key PLACE   whoever asks must bring the key: env:NAME or file:PATH (for --host)",
  "  --allow-host NAME a further name by which it may be asked (proxies); may be given more than once",
  "  --open            opens the page in the browser",
  "  --play            lets the page open the runs' worlds: be the agent, or let a checkpoint play, step by step.",
  "                    Where a world starts programs on its run's word, say so yourself: env.options.mcp=…",
  "  --json            one line with the address, for programs",
  "",
  "Example: openmanus-rl dashboard runs --open",
].join("\n");

export const dashboard: Command = {
  help,
  async run(given) {
    const {
      settings,
      values,
      words: named,
    } = settingsAndOptions(given, {
      port: { type: "string", default: String(PORT) },
      host: { type: "string" },
      "api-key": { type: "string" },
      "allow-host": { type: "string", multiple: true },
      open: { type: "boolean", default: false },
      play: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      // For `train --dashboard`: until standard input ends, and for folders that are not there yet.
      wait: { type: "boolean", default: false },
    });
    if (settings.length > 0 && !values.play)
      throw new UsageError(`"${settings[0]}" is for worlds that are played: add --play.`);
    const folders = named.length > 0 ? named : [RUNS];
    const missing = named.find((folder) => !values.wait && !existsSync(folder));
    if (missing !== undefined) throw new UsageError(`there is no folder "${missing}".`);
    const server = await serveDashboard({
      folders,
      port: wholeNumber("port", values.port, 0, 65_535),
      host: values.host,
      apiKey: keyOf(values["api-key"]),
      allowedHosts: values["allow-host"],
      ...(values.play && { play: { settings: parseOverrides(settings) as Settings } }),
      say: (sentence) => printError(`openmanus-rl dashboard: ${sentence}`),
    });
    try {
      print(
        values.json
          ? JSON.stringify({ url: server.url, folders })
          : `${folders.join(", ")}: ${server.url}\nCtrl-C stops it.`,
      );
      if (values.open) openInBrowser(server.url);
      await interruptible((signal) =>
        Promise.race([once(signal, "abort"), ...(values.wait ? [endOfInput()] : [])]),
      );
      return 0;
    } finally {
      await server.close();
    }
  },
};

/** Whoever has started this has gone. */
async function endOfInput(): Promise<void> {
  process.stdin.resume();
  await once(process.stdin, "close");
}

function keyOf(place: string | undefined): string | undefined {
  try {
    return place === undefined ? undefined : keyAt("--api-key", place);
  } catch (error) {
    if (error instanceof NetworkError) throw new UsageError(error.message);
    throw error;
  }
}

/** By what the system has for it; where there is nothing, the address stands in the terminal. */
function openInBrowser(url: string): void {
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  const child = spawn(program, [url], { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
}
