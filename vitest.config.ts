import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = fileURLToPath(new URL("./src", import.meta.url));

export default defineConfig({
  resolve: {
    // As in tsconfig.json: in a checkout, the package's name means its sources.
    alias: [
      { find: /^openmanus-rl$/, replacement: `${source}/library/index.ts` },
      { find: /^openmanus-rl\/(.+)$/, replacement: `${source}/$1/index.ts` },
    ],
  },
  test: {
    include: ["tests/**/*.test.ts"],
    globalSetup: ["tests/support/skipped.ts", "tests/support/packed.ts"],
    // The native addon holds process-wide state (threads, autograd modes), and a crash must not
    // take the whole suite down: each test file gets a process of its own.
    pool: "forks",
    // A name in the place of a model's folder must not ask the Hub, nor a token be told to anybody.
    env: { HF_HUB_OFFLINE: "1", HF_TOKEN: "" },
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
