/**
 * @file Runs one input and says what is wrong with what came of it: an error that is not one of ours, too much time or
 * memory, a file outside of the folder, a prototype that has something new.
 */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { OpenTarget, Target } from "./target.ts";

/** What an input must not do. */
export interface Find {
  /** By which two finds are the same: kind, error and place. */
  readonly signature: string;
  readonly report: string;
}

/** What came of an input that is no find: "result", or the error's sentence without what differs by the input. */
export interface Outcome {
  readonly find?: Find;
  readonly shape: string;
}

const SECONDS = 3;
/** Bytes that one input may add to the most that the process ever had. */
const MOST_MEMORY = 300e6;

const GUARDED = { Object, Array, Function, String, Number, Promise, Map, Error, Buffer } as const;

export interface Judge {
  judge(bytes: Buffer): Promise<Outcome>;
}

/** `folder` is the target's; beside it nothing may appear. */
export function judgeFor(target: Target, opened: OpenTarget, folder: string): Judge {
  const prototypes = Object.entries(GUARDED).map(([name, { prototype }]) => {
    return [name, prototype as object, new Set(Reflect.ownKeys(prototype as object))] as const;
  });
  const parent = join(folder, "..");
  const beside = new Set(readdirSync(parent));
  const { seconds = SECONDS } = target;

  const problemAfter = (computed: number, grown: number): Find | undefined => {
    if (computed > seconds)
      return { signature: "slow", report: `took ${computed.toFixed(1)} s of computing` };
    if (grown > MOST_MEMORY)
      return { signature: "memory", report: `took ${Math.round(grown / 1e6)} MB` };
    // What is new is taken away again, so that the next input is not blamed for it.
    for (const [name, prototype, keys] of prototypes)
      for (const key of Reflect.ownKeys(prototype))
        if (!keys.has(key)) {
          Reflect.deleteProperty(prototype, key);
          return { signature: `prototype of ${name}`, report: `the prototype got ${String(key)}` };
        }
    for (const name of readdirSync(parent))
      if (!beside.has(name)) {
        rmSync(join(parent, name), { recursive: true, force: true });
        return { signature: "outside", report: `wrote ${name} beside its folder` };
      }
    return undefined;
  };

  return {
    async judge(bytes) {
      const before = process.cpuUsage();
      const memory = process.resourceUsage().maxRSS;
      let shape = "result";
      let find: Find | undefined;
      try {
        const result = opened.run(bytes);
        if (result instanceof Promise) await result;
      } catch (error) {
        ({ shape, find } = judgeError(target, error));
      }
      const { user, system } = process.cpuUsage(before);
      const grown = (process.resourceUsage().maxRSS - memory) * 1024;
      find ??= problemAfter((user + system) / 1e6, grown);
      return { shape, ...(find && { find }) };
    },
  };
}

function judgeError(target: Target, error: unknown): Outcome & { find?: Find } {
  if (!(error instanceof Error))
    return {
      shape: "",
      find: { signature: "no error", report: `threw ${String(error).slice(0, 200)}` },
    };
  const { message } = error;
  const isOurs = target.errors.some((kind) => error instanceof kind);
  const isSentence = message.length >= 8 && message.length <= 20_000;
  // What Node says about code that took nothing for something: ours, unless a package said it, and we what it means.
  const isSlip =
    /Cannot read propert|is not a function$|is not iterable|undefined is not/.test(message) &&
    !isOfPackage(error.cause);
  if (isOurs && isSentence && !isSlip) return { shape: shapeOf(message) };
  const place = placesIn(error.stack ?? "")
    .slice(0, 2)
    .join(" < ");
  return {
    shape: shapeOf(message),
    find: {
      signature: `${error.name} ${shapeOf(message).slice(0, 60)} ${place}`,
      report: (error.stack ?? String(error)).slice(0, 4000),
    },
  };
}

function isOfPackage(cause: unknown): boolean {
  return (
    cause instanceof Error && placesIn(cause.stack ?? "")[0]?.startsWith("node_modules") === true
  );
}

/** A sentence without quotations, numbers and long words: what two of a kind have in common. */
function shapeOf(message: string): string {
  return message
    .slice(0, 400)
    .replace(/"[^"]*"|'[^']*'|\/\S+/g, "…")
    .replace(/-?\d[\d.e+]*/g, "0")
    .replace(/[^\x20-\x7e…]+/g, "?")
    .slice(0, 60);
}

function placesIn(stack: string): string[] {
  return [...stack.matchAll(/\/((?:src|node_modules)\/[^\s:)]+:\d+)/g)].map((match) => match[1]!);
}
