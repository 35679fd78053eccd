/**
 * @file `openmanus-rl env serve NAME`: a world as an AgentGym server, until it is stopped.
 */
import { once } from "node:events";
import { type ServeOptions, serveWorld } from "../../environments/index.ts";
import { UsageError, wholeNumber } from "../arguments/usage.ts";
import { opened, worldWords } from "../arguments/world.ts";
import { interruptible } from "./interrupt.ts";

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
  const number = (option: "port" | "environments" | "idle", least: number, most: number) => {
    const text = values[option];
    return text === undefined ? undefined : wholeNumber(option, text, least, most);
  };
  const settings: ServeOptions = {
    kind: values.kind,
    split: values.split,
    host: values.host,
    port: number("port", 0, 65_535),
    maximumEnvironments: number("environments", 1, 1_000_000),
    idle: number("idle", 1, 10_000_000),
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
    await interruptible((signal) => once(signal, "abort"));
    await server.close();
    return 0;
  } finally {
    await world.close?.();
  }
}
