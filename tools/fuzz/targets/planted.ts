/**
 * @file Targets that do on purpose what no reader may: whoever fuzzes can see by them that it would be noticed.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type OpenTarget, type Target, texts } from "../target.ts";

class Refusal extends Error {}

/** Reads "k1", "k2", …, one character after the other: without a look at what was reached nobody gets to the end. */
function planted(name: string, run: (folder: string) => unknown): Target {
  return {
    name,
    errors: [Refusal],
    words: ["k", "e", "y"],
    forms: () => [texts("0000")],
    open: (folder): OpenTarget => ({
      run(given) {
        if (given[0] !== 107) throw new Refusal("the first character is wrong");
        if (given[1] !== 101) throw new Refusal("the second character is wrong");
        if (given[2] !== 121) throw new Refusal("the third character is wrong");
        return run(folder);
      },
    }),
  };
}

export const targets: readonly Target[] = [
  planted("planted-slip", () => (undefined as unknown as { key: string }).key),
  planted("planted-abort", () => process.abort()),
  planted("planted-hang", () => {
    for (;;);
  }),
  planted("planted-file", (folder) => writeFileSync(join(folder, "..", "escaped"), "x")),
  planted("planted-prototype", () => {
    (Object.prototype as unknown as Record<string, unknown>).polluted = true;
  }),
  planted("planted-memory", () => Buffer.alloc(600_000_000, 1).length),
];
