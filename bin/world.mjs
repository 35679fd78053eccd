/**
 * @file The process of a world that is played in one of its own (env.isolate). It is started with a pipe and
 * the number of the process that it belongs to, and is of no use without.
 */

import { ourFile, registerTypeScript } from "./typescript.mjs";

process.setSourceMapsEnabled(true);
await registerTypeScript();
const { serveWorld } = await import(ourFile("environments/isolated/child"));
serveWorld(Number(process.argv[2]));
