/**
 * @file Inputs that reached something new, kept to be mutated further: in memory, and in a folder for the next time.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mutateBytes } from "./mutate.ts";
import { mutateValue } from "./mutate-values.ts";
import type { FuzzRandom } from "./random.ts";
import type { Form } from "./target.ts";

/** What is mutated, in one of the target's forms. */
export interface Entry {
  readonly form: number;
  readonly bytes: Buffer;
}

export interface Corpus {
  readonly size: number;
  add(entry: Entry): void;
  /** A mutation of one of the entries. */
  next(random: FuzzRandom): Entry;
}

/** Entries of a form at most; newer ones take the place of old ones that are no seeds. */
const MOST_ENTRIES = 4000;

export function openCorpus(
  forms: readonly Form[],
  words: readonly string[],
  folder: string | undefined,
): Corpus {
  const entries = forms.map((form) => [...form.seeds]);
  if (folder !== undefined) readInto(entries, forms, folder);
  let size = entries.reduce((sum, list) => sum + list.length, 0);
  return {
    get size() {
      return size;
    },
    add({ form, bytes }) {
      const list = entries[form]!;
      if (list.length >= MOST_ENTRIES) list.splice(forms[form]!.seeds.length, 1);
      else size++;
      list.push(bytes);
      if (folder === undefined) return;
      mkdirSync(folder, { recursive: true });
      const name = createHash("sha256").update(bytes).digest("hex").slice(0, 16);
      writeFileSync(join(folder, `${form}-${name}`), bytes);
    },
    next(random) {
      const form = random.below(forms.length);
      const list = entries[form]!;
      // What was found last leads on more often.
      const from = random.once(3) ? Math.max(0, list.length - 20) : 0;
      const chosen = list[from + random.below(list.length - from)]!;
      const others = () => random.pick(list);
      const { kind } = forms[form]!;
      const bytes =
        kind === "json"
          ? mutateValue(chosen, random, words, others)
          : mutateBytes(chosen, random, words, others, kind === "text");
      return { form, bytes };
    },
  };
}

function readInto(entries: Buffer[][], forms: readonly Form[], folder: string): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder).sort()) {
    const form = Number(name.split("-")[0]);
    const bytes = readFileSync(join(folder, name));
    if (forms[form] && (forms[form].kind !== "json" || isJson(bytes))) entries[form]!.push(bytes);
  }
}

function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString());
    return true;
  } catch {
    return false;
  }
}
