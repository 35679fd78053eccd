/**
 * @file `openmanus-rl env serve NAME`: a world as an AgentGym server, until it is stopped.
 */
import { type ServeOptions, serveWorld } from "../environments/index.ts";
import { UsageError } from "./usage.ts";
import { opened, worldWords } from "./world.ts";

export interface ServeWords {
  readonly json: boolean;
  readonly split?: string | undefined;
  readonly kind?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: string | undefined;
  readonly environments?: string | undefined;
  readonly idle?: string | undefined;
}

export async function serve(words: readonly string[], values: ServeWords): Promise<number> {
  const { name, options, others } = worldWords(words);
  if (others.length > 0) throw new UsageError(`serve takes no "${others[0]}".`);
  const settings: ServeOptions = {
    kind: values.kind,
    split: values.split,
    host: values.host,
    port: number("--port", values.port, 0, 65_535),
    maximumEnvironments: number("--environments", values.environments, 1, 1_000_000),
    idle: number("--idle", values.idle, 1, 10_000_000),
  };
  const { definition, world } = await opened(name, options);
  try {
    const server = await serveWorld(world, settings);
    const { url, kind, tasks } = server;
    if (values.json) console.log(JSON.stringify({ world: definition.name, url, kind, tasks }));
    else
      console.log(
        `${definition.name} as AgentGym's ${kind}, ${tasks} tasks: ${url}\nCtrl-C stops it.`,
      );
    await stopSignal();
    await server.close();
    return 0;
  } finally {
    await world.close?.();
  }
}

function number(
  option: string,
  text: string | undefined,
  least: number,
  most: number,
): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw new UsageError(`${option} must be a whole number from ${least} to ${most}, not "${text}".`);
}

/** Resolves at the first Ctrl-C, or when the process is asked to end. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      process.off("SIGINT", stop);
      process.off("SIGTERM", stop);
      resolve();
    };
    process.on("SIGINT", stop);
    process.on("SIGTERM", stop);
  });
}
