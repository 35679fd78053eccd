/**
 * @file A run in a process of its own whose date jumps (run.ts).
 */
import "../../support/jumping-clock.ts";

await import("./run.ts");
