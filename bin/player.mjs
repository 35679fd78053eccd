/**
 * @file A process that only plays (rollout.players): started by a training with its settings in one word, it answers on
 * 127.0.0.1 until the training ends it.
 */

import { ourFile, registerTypeScript } from "./typescript.mjs";

process.setSourceMapsEnabled(true);
await registerTypeScript();
const { servePlayer } = await import(ourFile("training/served/player"));
await servePlayer(JSON.parse(process.argv[2]));
