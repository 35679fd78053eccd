/**
 * @file Tokens one by one as they are drawn, from any generator.
 */
import type { Completion, GenerationRequest, SampledToken, TextGenerator } from "./request.ts";

export interface TokenStream extends AsyncIterableIterator<SampledToken> {
  /** The whole answer, when it is complete; what was drawn until then if the consumer broke off. */
  readonly completion: Promise<Completion>;
}

/**
 * Starts a request and gives its tokens:
 *
 *   const tokens = stream(generator, request);
 *   for await (const { id } of tokens) if (enough(id)) break;   // a break stops the generation
 *   const { finish } = await tokens.completion;
 *
 * A failure is thrown to whoever waits for the next token, and rejects `completion`.
 */
export function stream(generator: TextGenerator, request: GenerationRequest): TokenStream {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  const ready: SampledToken[] = [];
  let ended = false;
  let failure: { error: unknown } | undefined;
  let wake: () => void = () => {};

  if (request.signal?.aborted) stop();
  request.signal?.addEventListener("abort", stop, { once: true });
  const completion = generator
    .generate({
      ...request,
      signal: stopping.signal,
      onToken(token) {
        ready.push(token);
        wake();
        request.onToken?.(token);
      },
    })
    .catch((error: unknown) => {
      failure = { error };
      throw error;
    })
    .finally(() => {
      ended = true;
      request.signal?.removeEventListener("abort", stop);
      wake();
    });
  // Whoever only iterates gets the failure there: it is not unhandled.
  completion.catch(() => {});

  async function* tokens(): AsyncGenerator<SampledToken, void> {
    try {
      for (;;) {
        while (ready.length > 0) yield ready.shift()!;
        if (ended) break;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      if (failure) throw failure.error;
    } finally {
      stop();
      // Whoever breaks off finds the generation over, not still winding down.
      await completion.catch(() => {});
    }
  }

  const iterator = tokens();
  return {
    completion,
    next: () => iterator.next(),
    // An iterator that never began would skip its `finally`.
    return: async () => {
      stop();
      return iterator.return();
    },
    throw: (error) => iterator.throw(error),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
