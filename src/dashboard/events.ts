/**
 * @file Server-sent events: what changes, as it changes, for as long as the page is open.
 */
import type { LiveLine } from "../monitoring/index.ts";
import type { FollowedRuns } from "./follow.ts";

/** Between two signs of life, in milliseconds: a client that has gone is noticed by them. */
const PULSE = 15_000;
/** Events that wait for a client that does not read; more are not kept, the next one tells of all runs. */
const MOST_WAITING = 64;

/** Sends a value; false: the client is behind, and it was not sent. */
export type Send = (value: unknown) => boolean;

/** `follow` begins to tell, and gives what ends it. */
function eventStream(signal: AbortSignal, follow: (send: Send) => () => void): Response {
  let stop = () => {};
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const encoder = new TextEncoder();
        const send = (text: string) => {
          // Whoever is behind reads less, and later.
          if ((controller.desiredSize ?? 0) <= 0) return false;
          controller.enqueue(encoder.encode(text));
          return true;
        };
        send("retry: 2000\n\n");
        const unfollow = follow((value) => send(`data: ${JSON.stringify(value)}\n\n`));
        const pulse = setInterval(() => send(": here\n\n"), PULSE);
        stop = () => {
          unfollow();
          clearInterval(pulse);
        };
        signal.addEventListener("abort", stop, { once: true });
      },
      cancel: () => stop(),
    },
    { highWaterMark: MOST_WAITING },
  );
  return new Response(stream, {
    headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
  });
}

export function changeStream(runs: FollowedRuns, signal: AbortSignal): Response {
  return eventStream(signal, (send) => runs.watch(send));
}

/** Lines that grow, and may begin anew. */
export interface FollowedLive {
  /** Tells those who listen until the function that it gives is called; the first time, of all lines there are. */
  follow(tell: (lines: readonly LiveLine[], anew: boolean) => boolean): () => void;
}

export function liveStream(live: FollowedLive, signal: AbortSignal): Response {
  return eventStream(signal, (send) => live.follow((lines, anew) => send({ anew, lines })));
}
