/**
 * @file A trainer that starts a server, says which, and waits to be killed: PROGRAM MODEL-FOLDER WEIGHTS-FOLDER.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createVllmEngine } from "../../../src/generation/index.ts";
import { loadChat, loadModel } from "../../../src/models/index.ts";
import { probeOf } from "../../../src/training/served/probe.ts";
import { weightsPlace } from "../../../src/training/served/weights.ts";
import { vllmOptions } from "./support.ts";

const [executable, folder, where] = process.argv.slice(2) as [string, string, string];
mkdirSync(where, { recursive: true });
const model = loadModel(folder);
const place = weightsPlace(model, {
  ...{ asked: where, runFolder: where, dtype: "float32", tokenizerFolder: folder },
});
const engine = createVllmEngine({
  vllm: vllmOptions(executable),
  tokenizer: loadChat(folder).tokenizer,
  vocabularySize: model.config.vocabularySize,
  weightsFolder: place.folder,
  say: () => {},
});
const weights = place.write(model, 0);
await engine.use({ folder: weights, version: 0, probe: probeOf(model, 1e-3) });
const log = readFileSync(join(dirname(executable), "log"), "utf8")
  .trimEnd()
  .split("\n");
const pids = log.map((line) => Number(line.split(" ")[0]));
console.log(JSON.stringify({ pids, weights: join(weights, "config.json") }));
setInterval(() => {}, 1000);
