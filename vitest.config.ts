import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/**/*.test.ts"],
    globalSetup: ["tests/support/skipped.ts"],
    // The native addon holds process-wide state (threads, autograd modes), and a crash must not
    // take the whole suite down: each test file gets a process of its own.
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
