/**
 * @file What all sections share: the model, the text, who could not be measured, and whom to tell.
 */
import type { ChildOptions } from "./children.ts";
import { isOurs } from "./report.ts";

/** A peer that could not be measured, and why. */
export interface Missing {
  readonly who: string;
  readonly why: string;
}

export interface Setting extends ChildOptions {
  /** The model's folder. */
  readonly folder: string;
  /** Ids of a long text. */
  readonly text: readonly number[];
  isWanted(name: string): boolean;
  /** Undefined where a peer fails: the others go on, and the report says so. What is ours must not fail. */
  attempt<Result>(who: string, run: () => Promise<Result>): Promise<Result | undefined>;
}

export function attempting(
  section: string,
  missing: Missing[],
  say: (text: string) => void,
): Setting["attempt"] {
  return async (name, run) => {
    const who = `${name}, ${section}`;
    // Nobody waits for it a second time.
    if (missing.some((other) => other.who === who)) return undefined;
    try {
      return await run();
    } catch (error) {
      if (isOurs(name)) throw error;
      const why = (error as Error).message;
      missing.push({ who, why });
      say(`${who}: cannot be measured: ${why}`);
      return undefined;
    }
  };
}
