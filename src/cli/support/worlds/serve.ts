/**
 * @file `openmanus-rl env serve NAME`: a world as an AgentGym or OpenEnv server, until it is stopped.
 */
import { once } from "node:events";
import { type ServeOptions, serveOpenEnv, serveWorld } from "../../../environments/index.ts";
import { keyAt, NetworkError } from "../../../network/index.ts";
import { UsageError, wholeNumber } from "../../arguments/usage.ts";
import { opened, worldWords } from "../../arguments/world.ts";
import { interruptible } from "../interrupt.ts";
import { print, printError } from "../print.ts";

export interface ServeWords {
  readonly json: boolean;
  readonly split?: string | undefined;
  readonly kind?: string | undefined;
  readonly protocol?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: string | undefined;
  readonly environments?: string | undefined;
  readonly idle?: string | undefined;
  readonly spare?: string | undefined;
  readonly "step-seconds"?: string | undefined;
  /** Where the key is: `env:NAME` or `file:PATH`. */
  readonly "api-key"?: string | undefined;
  readonly "allow-host"?: readonly string[] | undefined;
  readonly isolate?: string | undefined;
}

/** Seconds; Node's timers take milliseconds of 31 bits, and an answer may wait for two steps. */
const LONGEST_STEP = 1_000_000;

export async function serve(words: readonly string[], values: ServeWords): Promise<number> {
  const { name, options, others } = worldWords(words);
  if (others.length > 0) throw new UsageError(`serve takes no "${others[0]}".`);
  const { protocol = "agentgym" } = values;
  if (protocol !== "agentgym" && protocol !== "openenv")
    throw new UsageError(`there is no protocol "${protocol}"; there are agentgym and openenv.`);
  if (protocol === "openenv" && values.kind !== undefined)
    throw new UsageError("--kind is AgentGym's; OpenEnv's servers are all of one kind.");
  type Numbered = "port" | "environments" | "idle" | "spare" | "step-seconds";
  const number = (option: Numbered, least: number, most: number) => {
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
    spare: number("spare", 1, 10_000_000),
    stepSeconds: number("step-seconds", 1, LONGEST_STEP),
    apiKey: keyOf(values),
    allowedHosts: values["allow-host"],
    say: (sentence) =>
      printError(
        `openmanus-rl env serve: ${sentence} --api-key env:NAME or file:PATH asks for one.`,
      ),
  };
  const { definition, world } = await opened(name, options, {
    isolate: values.isolate,
    stepSeconds: settings.stepSeconds,
  });
  try {
    const server =
      protocol === "openenv"
        ? await serveOpenEnv(world, { ...settings, description: definition.summary })
        : await serveWorld(world, settings);
    const { url, tasks } = server;
    const kind = "kind" in server ? server.kind : "openenv";
    if (values.json) print(JSON.stringify({ world: definition.name, url, kind, tasks }));
    else {
      const form = protocol === "openenv" ? "over OpenEnv" : `as AgentGym's ${kind}`;
      print(`${definition.name} ${form}, ${tasks} tasks: ${url}\nCtrl-C stops it.`);
    }
    await interruptible((signal) => once(signal, "abort"));
    await server.close();
    return 0;
  } finally {
    await world.close?.();
  }
}

function keyOf({ "api-key": place }: ServeWords): string | undefined {
  try {
    return place === undefined ? undefined : keyAt("--api-key", place);
  } catch (error) {
    if (error instanceof NetworkError) throw new UsageError(error.message);
    throw error;
  }
}
