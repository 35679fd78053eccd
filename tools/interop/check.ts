/**
 * @file What a check with a peer is. Each is a file of its own in checks/, whose default export is one; a new
 * file there is found by itself.
 */
import type { Peers } from "./peers.ts";

/** One thing that was compared. */
export interface Finding {
  readonly what: string;
  /** How well it agreed: a number for the table. */
  readonly detail: string;
  /** What disagreed; undefined when nothing did. */
  readonly problem?: string | undefined;
  /** It was not compared, and why is in the detail. */
  readonly skipped?: true;
}

export interface InteropCheck {
  /** For `npm run interop -- NAME`. */
  readonly name: string;
  /** `folder` is empty, for this check alone, and removed afterwards. */
  run(peers: Peers, folder: string): Promise<readonly Finding[]>;
}
