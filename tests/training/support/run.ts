/**
 * @file A run in a process of its own: the arguments are settings. For tests that kill it.
 */
import { resolveConfig } from "../../../src/config/index.ts";
import { trainConfig } from "./runs.ts";

const { config } = resolveConfig({ overrides: process.argv.slice(2) });
const { state } = await trainConfig({
  config,
  say: (text) => console.log(text),
  loggers: [{ log: (step) => console.log(`at ${step}`), close() {} }],
});
console.log(`done ${state.step}`);
