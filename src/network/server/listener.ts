/**
 * @file What becomes of one request: the gate, the handler with its time, the answer. Whatever goes
 * wrong, the request is answered or its connection ended, and what it held is given back.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import {
  allowedOrigin,
  type GateRules,
  isPreflight,
  type Refusal,
  refusalOf,
  tooLarge,
} from "./gate.ts";
import type { Handler, ServerOptions } from "./open.ts";
import { GRACE, sendRefusal } from "./refuse.ts";
import { webRequest } from "./request.ts";
import { sendResponse } from "./response.ts";

/** Requests on one connection that have not been answered yet. */
const MOST_PIPELINED = 32;

const BUSY: Refusal = {
  status: 503,
  sentence: "too much is asked at once; come back later.",
  headers: { "retry-after": "1" },
};

export function listenerOf(options: ServerOptions, rules: GateRules): RequestListener {
  const { handler, answerSeconds = 300, stallSeconds = 60 } = options;
  const { maximumRequests = 1024, largestBodies = 64 * 2 ** 20 } = options;
  /** Requests that are being carried out, and bytes of their bodies. */
  let running = 0;
  let held = 0;

  return (incoming, outgoing) => {
    // What goes wrong with a connection shows in its end; without a listener it would end the process.
    incoming.on("error", () => {});
    outgoing.on("error", () => {});
    if (unansweredOn(outgoing) > MOST_PIPELINED) {
      incoming.socket.destroy();
      return;
    }
    endUnread(incoming, outgoing);
    const cors = corsHeaders(allowedOrigin(incoming, rules));
    const refuse = (refusal: Refusal) => sendRefusal(options, outgoing, refusal, cors);
    const refusal = refusalOf(incoming, rules) ?? (running < maximumRequests ? undefined : BUSY);
    if (refusal) return refuse(refusal);
    if (isPreflight(incoming)) return sendPreflight(outgoing, cors);
    if (incoming.headers.expect?.toLowerCase() === "100-continue") outgoing.writeContinue();

    running++;
    let size = 0;
    let excess: Refusal | undefined;
    const take = (bytes: number): boolean => {
      size += bytes;
      held += bytes;
      if (size > rules.largestBody) excess = tooLarge(rules.largestBody);
      else if (held > largestBodies) excess = BUSY;
      return excess === undefined;
    };
    const work = startWork(handler, answerSeconds, incoming, outgoing, take);
    const sent = work.answer
      .then((response) => {
        if (!excess && !outgoing.destroyed)
          return sendResponse(response, outgoing, stallSeconds * 1000, cors);
        void response.body?.cancel().catch(() => {});
        return excess && refuse(excess);
      })
      .catch((error: unknown) => refuse(excess ?? refusalFor(error)))
      .catch(() => outgoing.destroy());
    // A handler that was too late for its answer still holds what it holds.
    void Promise.all([sent, work.settled]).then(() => {
      running--;
      held -= size;
    });
  };
}

/** The handler took too long. */
class Late extends Error {}
/** The web's classes do not take the request. */
class Malformed extends Error {}

interface Work {
  /** The handler's response, or why there is none: it failed, or is late. */
  readonly answer: Promise<Response>;
  /** When the handler has ended, late or not. Never fails. */
  readonly settled: Promise<unknown>;
}

function startWork(
  handler: Handler,
  seconds: number,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  take: (bytes: number) => boolean,
): Work {
  const leaving = new AbortController();
  outgoing.once("close", () => {
    if (!outgoing.writableFinished) leaving.abort(new Error("the client went away"));
  });
  let request: Request;
  try {
    request = webRequest(incoming, leaving.signal, { take });
  } catch (error) {
    const malformed = new Malformed("the request cannot be read", { cause: error });
    return { answer: Promise.reject(malformed), settled: Promise.resolve() };
  }
  const handled = (async () => handler(request))();
  let clock: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    clock = setTimeout(() => {
      const reason = new Late(`no answer began within ${seconds} s`);
      reject(reason);
      leaving.abort(reason);
      handled.then((response) => response.body?.cancel()).catch(() => {});
    }, seconds * 1000);
  });
  const settled = handled.then(
    () => clearTimeout(clock),
    () => clearTimeout(clock),
  );
  return { answer: Promise.race([handled, late]), settled };
}

/** What a handler throws stays here: its words may be about what is not the client's business. */
function refusalFor(error: unknown): Refusal {
  if (error instanceof Malformed) return { status: 400, sentence: `${error.message}.` };
  if (error instanceof Late) return { status: 504, sentence: `${error.message}.` };
  return { status: 500, sentence: "the server failed to answer this request." };
}

type Headers = Readonly<Record<string, string>>;

/** Only for pages that were named: for all others there is not even a word about them. */
function corsHeaders(origin: string | undefined): Headers {
  return origin === undefined ? {} : { "access-control-allow-origin": origin, vary: "origin" };
}

function sendPreflight(outgoing: ServerResponse, cors: Headers): void {
  outgoing.writeHead(204, {
    ...cors,
    "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
    "access-control-allow-headers": "authorization, content-type",
    "access-control-max-age": "600",
  });
  outgoing.end();
}

/** A client that goes on sending what nobody reads sees its answer first, and then the end. */
function endUnread(incoming: IncomingMessage, outgoing: ServerResponse): void {
  outgoing.once("finish", () => {
    if (incoming.complete) return;
    const { socket } = incoming;
    setTimeout(() => incoming.complete || socket.destroy(), GRACE).unref();
  });
}

/** Requests that are not answered yet, by connection. */
const unanswered = new WeakMap<Socket, number>();

/** How many there are on its connection, this one included. */
function unansweredOn(outgoing: ServerResponse): number {
  const { socket } = outgoing.req;
  const count = (unanswered.get(socket) ?? 0) + 1;
  unanswered.set(socket, count);
  outgoing.once("close", () => unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1));
  return count;
}
