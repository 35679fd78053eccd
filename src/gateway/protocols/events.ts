/**
 * @file Answers that are streamed as server-sent events. Nothing is sent before the first piece is there, so that a
 * request that cannot be answered gets a status, not a stream that breaks off.
 */

/** One event: its name, where the protocol has names, and its data. */
export interface ServerEvent {
  readonly event?: string;
  readonly data: unknown;
}

export interface EventStream {
  /** Aborts when nobody reads any more. */
  readonly signal: AbortSignal;
  send(event: ServerEvent): void;
}

/**
 * Runs `work`, whose events are the answer. It rejects if `work` does before its first event; later, `failed` says
 * what the last event is.
 */
export async function streamed(
  request: AbortSignal,
  work: (stream: EventStream) => Promise<void>,
  failed: (error: unknown) => ServerEvent,
): Promise<Response> {
  const stopping = new AbortController();
  const stop = () => stopping.abort(new Error("the client has gone"));
  if (request.aborted) stop();
  request.addEventListener("abort", stop, { once: true });
  const encoder = new TextEncoder();
  const early: Uint8Array[] = [];
  let output: ReadableStreamDefaultController<Uint8Array> | undefined;
  let begin: () => void = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const send = ({ event, data }: ServerEvent) => {
    if (stopping.signal.aborted) return;
    const text = typeof data === "string" ? data : JSON.stringify(data);
    const bytes = encoder.encode(
      `${event === undefined ? "" : `event: ${event}\n`}data: ${text}\n\n`,
    );
    if (output) output.enqueue(bytes);
    else early.push(bytes);
    begin();
  };
  let isBegun = false;
  const running = work({ signal: stopping.signal, send })
    .catch((error: unknown) => {
      if (!isBegun) throw error;
      send(failed(error));
    })
    .finally(() => request.removeEventListener("abort", stop));
  await Promise.race([begun, running]);
  isBegun = true;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      output = controller;
      for (const bytes of early.splice(0)) controller.enqueue(bytes);
      const end = () => {
        if (!stopping.signal.aborted) controller.close();
      };
      running.then(end, end);
    },
    cancel: stop,
  });
  return new Response(body, {
    headers: { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" },
  });
}
