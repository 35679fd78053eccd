/**
 * @file A rank of a run on the stand-in device. The arguments are settings.
 */
import { resolveConfig } from "../../../src/config/index.ts";
import { loadStandin } from "../../support/standin.ts";
import { optionsOf, trainConfig } from "./runs.ts";

await loadStandin();
const { config } = resolveConfig({ overrides: process.argv.slice(2) });
const { play } = await optionsOf(config);
console.log(`device ${play.device}`);
await trainConfig({ config });
