/**
 * @file What a task's sentence asks for.
 */

export interface Wish {
  /** The class of the object, "…" of "put a … in …". */
  readonly object: string;
  readonly count: 1 | 2;
  /** What must be done to it first. */
  readonly treatment: "clean" | "heat" | "cool" | undefined;
  /** The class of the receptacle to put it in; undefined when it is to be looked at. */
  readonly target: string | undefined;
  /** The class of the lamp to look at it with. */
  readonly lamp: string | undefined;
}

const TREATMENTS: Readonly<Record<string, Wish["treatment"]>> = {
  clean: "clean",
  hot: "heat",
  heat: "heat",
  cool: "cool",
};

const PATTERNS: readonly RegExp[] = [
  /^(?:look at|examine the) (?<object>\S+) (?:under|with) the (?<lamp>\S+)$/,
  /^(?:put|find) (?<two>two) (?<object>\S+) (?:and put them )?in (?<target>\S+)$/,
  /^(?<treatment>clean|heat|cool) some (?<object>\S+) and put it in (?<target>\S+)$/,
  /^put a (?<treatment>clean|hot|cool) (?<object>\S+) in (?<target>\S+)$/,
  /^put (?:a|some) (?<object>\S+) (?:in|on) (?<target>\S+)$/,
];

/** Undefined for sentences in other words (people's own descriptions of a task). */
export function readWish(instruction: string): Wish | undefined {
  const sentence = instruction.trim().replace(/\.$/, "");
  for (const pattern of PATTERNS) {
    const found = pattern.exec(sentence)?.groups;
    if (!found) continue;
    return {
      object: found.object!,
      count: found.two ? 2 : 1,
      treatment: TREATMENTS[found.treatment ?? ""],
      target: found.target,
      lamp: found.lamp,
    };
  }
  return undefined;
}
