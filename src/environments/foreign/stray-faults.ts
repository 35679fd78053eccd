/**
 * @file Faults that nobody awaits: a promise that is rejected later, an exception in a timer or a socket that
 * somebody else's code started. Node ends the process for them. Here each is the affair of whoever called that
 * code, an episode mostly, and costs that one alone.
 *
 * Who called is remembered by AsyncLocalStorage, which follows timers, sockets and promises. A fault that was
 * started on nobody's behalf ends the process as it does without this file.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { messageOf } from "./message.ts";

/** Who called, and hears of faults that come outside of the call. */
export interface FaultOwner {
  /** `sentence`: what happened, without a name. */
  fault(sentence: string, cause: unknown): void;
}

const owners = new AsyncLocalStorage<FaultOwner>();

/** Calls somebody else's code: what goes wrong in what it starts is told to `owner`. */
export function onBehalfOf<Value>(owner: FaultOwner, call: () => Value): Value {
  return owners.run(owner, call);
}

let holders = 0;
let plainMicrotask = queueMicrotask;

/** From now on faults are told to their owners, until what is given back is called. */
export function holdStrayFaults(): () => void {
  if (holders++ === 0) listen();
  let held = true;
  return () => {
    if (!held) return;
    held = false;
    if (--holders === 0) stopListening();
  };
}

function listen(): void {
  process.prependListener("uncaughtException", onException);
  // Without a listener for them, rejections are exceptions too. With one of the program's own they are not,
  // and ours beside it changes nothing for the others.
  if (process.listenerCount("unhandledRejection") > 0)
    process.prependListener("unhandledRejection", onRejection);
  plainMicrotask = globalThis.queueMicrotask;
  globalThis.queueMicrotask = rememberingMicrotask;
}

function stopListening(): void {
  process.off("uncaughtException", onException);
  process.off("unhandledRejection", onRejection);
  if (globalThis.queueMicrotask === rememberingMicrotask)
    globalThis.queueMicrotask = plainMicrotask;
}

function onException(error: unknown, origin: NodeJS.UncaughtExceptionOrigin): void {
  const owner = owners.getStore();
  if (owner) tell(owner, error, origin === "unhandledRejection");
  else if (process.listenerCount("uncaughtException") === 1) {
    // Nobody's, and nobody else listens: it ends the process with its stack, as if we were not here.
    stopListening();
    process.nextTick(() => {
      throw error;
    });
  }
}

function onRejection(reason: unknown): void {
  const owner = owners.getStore();
  if (owner) tell(owner, reason, true);
}

function tell(owner: FaultOwner, error: unknown, isRejection: boolean): void {
  const what = isRejection
    ? "a promise that it did not wait for was rejected"
    : "an exception outside of its calls";
  owner.fault(`${what}: ${messageOf(error)}`, error);
}

/** So many of a process are told; code that has one has mostly many. */
const MOST_WARNINGS = 3;
let warnings = 0;

/** A fault that can fail nothing, or nothing any more: told as a warning of Node's, a few times. */
export function warnOfFault(sentence: string): void {
  if (++warnings > MOST_WARNINGS) return;
  const last = warnings === MOST_WARNINGS ? " (More of these will not be told.)" : "";
  const kept = "no episode that is still played is concerned, and none is lost.";
  process.emitWarning(`${sentence}; ${kept}${last}`, "StrayFaultWarning");
}

/** Node forgets who called when such a callback throws; it is thrown again where Node remembers. */
function rememberingMicrotask(callback: () => void): void {
  const remembering = () => {
    try {
      callback();
    } catch (error) {
      process.nextTick(() => {
        throw error;
      });
    }
  };
  // What is no function Node refuses itself.
  plainMicrotask(typeof callback === "function" ? remembering : callback);
}
