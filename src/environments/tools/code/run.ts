/**
 * @file Runs a piece of JavaScript in QuickJS, an interpreter inside WebAssembly. The code has the
 * language and `print`, and nothing of this machine: no files, no network, no variables, no clock.
 *
 * Every run has an instance of its own in a memory of its own, of a fixed largest size: QuickJS's own
 * memory limit does not count in WebAssembly, and what a run broke must not meet the next one.
 * Nothing is given back to the interpreter afterwards; the instance is dropped as a whole.
 */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import release from "@jitl/quickjs-wasmfile-release-sync";
import {
  type CustomizeVariantOptions,
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSSyncVariant,
} from "quickjs-emscripten-core";
import { PRELUDE } from "./prelude.ts";

export interface CodeLimits {
  /** Milliseconds of interpreting. */
  readonly time: number;
  /** Bytes, the interpreter's own 16 MB included. */
  readonly memory: number;
  /** Characters that are kept of what is printed, and of the value. */
  readonly output: number;
}

export interface CodeResult {
  /** What was printed, line by line. */
  readonly printed: string;
  /** The last expression's value as text; undefined if it has none. */
  readonly value?: string;
  /** Why it did not come to an end: "ReferenceError: x is not defined". */
  readonly error?: string;
}

const PAGE = 65_536;
/** What the interpreter is compiled to start with. */
const INITIAL_PAGES = 256;
/** Bytes of the interpreter's own stack: some 2,000 calls. V8's stack must be larger; see sandbox.ts. */
const STACK = 400_000;
const NOT_SHOWN = "(a value that cannot be shown)";
/** To read what was printed, once the time is over. */
const GRACE = 200;

/** What the library makes of it: TypeScript knows WebAssembly only from browsers. */
type WasmModule = Exclude<NonNullable<CustomizeVariantOptions["wasmModule"]>, () => unknown>;

const { WebAssembly: wasm } = globalThis as unknown as {
  WebAssembly: {
    compile(bytes: Uint8Array): Promise<WasmModule>;
    Memory: new (size: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer };
  };
};

/** Its types speak of the CommonJS form, whose export is one level further down. */
const RELEASE = release as unknown as QuickJSSyncVariant;

let compiled: Promise<WasmModule> | undefined;

async function wasmModule(): Promise<WasmModule> {
  const file = createRequire(import.meta.url).resolve("@jitl/quickjs-wasmfile-release-sync/wasm");
  return wasm.compile(await readFile(file));
}

export async function runCode(code: string, limits: CodeLimits): Promise<CodeResult> {
  compiled ??= wasmModule();
  const maximum = Math.max(INITIAL_PAGES, Math.floor(limits.memory / PAGE));
  const memory = new wasm.Memory({ initial: INITIAL_PAGES, maximum });
  const variant = newVariant(RELEASE, {
    wasmModule: await compiled,
    wasmMemory: memory as unknown as NonNullable<CustomizeVariantOptions["wasmMemory"]>,
  });
  const quickjs = await newQuickJSWASMModuleFromVariant(variant);
  const runtime = quickjs.newRuntime();
  runtime.setMaxStackSize(STACK);
  let deadline = performance.now() + limits.time;
  let isLate = false;
  runtime.setInterruptHandler(() => {
    // Read once: whoever is stopped is late.
    const isOver = performance.now() > deadline;
    isLate ||= isOver;
    return isOver;
  });
  const context = runtime.newContext();
  const desk = context.unwrapResult(
    context.evalCode(`(${PRELUDE})(${limits.output})`, "prelude.js"),
  );
  const describe = context.getProp(desk, "describe");
  let ending: Pick<CodeResult, "value" | "error">;
  try {
    ending = evaluate(context, code, describe);
  } catch (error) {
    // An assertion in the interpreter, or its stack: as final as the code's own failures.
    ending = { error: `the interpreter gave up (${(error as Error).message.slice(0, 100)})` };
  }
  // Where there is no memory left for an error object, null is thrown, and cannot be described either.
  const hasGrown = memory.buffer.byteLength > INITIAL_PAGES * PAGE;
  if ((ending.error === "null" || ending.error === NOT_SHOWN) && hasGrown)
    ending = { error: "InternalError: out of memory" };
  if (isLate) ending = { error: `it took longer than ${limits.time / 1000} s and was stopped` };
  deadline = performance.now() + GRACE;
  return { printed: printedSoFar(context, desk), ...ending };
}

function evaluate(
  context: QuickJSContext,
  code: string,
  describe: QuickJSHandle,
): Pick<CodeResult, "value" | "error"> {
  const described = (value: QuickJSHandle): string => {
    const text = context.callFunction(describe, context.undefined, value);
    return text.error ? NOT_SHOWN : textOf(context, text.value);
  };
  const result = context.evalCode(code, "code.js");
  if (result.error) return { error: described(result.error) };
  // Promises go on when the code has ended; whatever waits for anything else never will.
  const jobs = context.runtime.executePendingJobs();
  if (jobs.error) return { error: described(jobs.error) };
  const state = context.getPromiseState(result.value);
  if (state.type === "pending") return { error: "its promise never settled" };
  if (state.type === "rejected") return { error: described(state.error) };
  const value = state.notAPromise ? result.value : state.value;
  return context.typeof(value) === "undefined" ? {} : { value: described(value) };
}

/** A text that the prelude gives as JSON. */
function textOf(context: QuickJSContext, handle: QuickJSHandle): string {
  return JSON.parse(context.getString(handle)) as string;
}

function printedSoFar(context: QuickJSContext, desk: QuickJSHandle): string {
  try {
    const text = context.callFunction(context.getProp(desk, "printed"), context.undefined);
    return text.error ? "" : textOf(context, text.value);
  } catch {
    return "";
  }
}
