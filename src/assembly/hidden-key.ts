/**
 * @file What a server says when it fails goes into messages, logs and trajectories. It may repeat the key
 * that it was sent, and its address may have a password in it: neither goes along.
 */
import type { TextGenerator } from "../generation/index.ts";
import { withoutKey } from "../spelling/index.ts";

/** Causes of causes. */
const DEEPEST = 10;

/** The same answer; of a failure, the same error with a message that may be shown. */
export async function hidingKey<Answer>(
  answer: Promise<Answer>,
  key: string | undefined,
): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    hide(error, key);
    throw error;
  }
}

function hide(error: unknown, key: string | undefined, depth = 0): void {
  if (!(error instanceof Error) || depth > DEEPEST) return;
  hide(error.cause, key, depth + 1);
  const shown = withoutKey(error.message, key);
  if (shown === error.message) return;
  error.stack = withoutKey(error.stack ?? "", key);
  error.message = shown;
}

/** A generator whose failures do not name the key. */
export function keyHidden(generator: TextGenerator, key: string | undefined): TextGenerator {
  return {
    generate: (request) => hidingKey(generator.generate(request), key),
    release: (conversation) => generator.release(conversation),
    close: () => generator.close(),
  };
}
