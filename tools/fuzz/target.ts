/**
 * @file What is fuzzed: a reader of somebody else's bytes, with inputs to begin from and the errors it may answer with.
 */

/** What a thrown error must be an instance of to be an answer and not a find. */
export type ErrorKind = abstract new (...given: never[]) => Error;

/** One way to write inputs: what is mutated, and what the reader is given for it. */
export interface Form {
  /** How it is mutated: anyhow, as text, or as a tree of values that is written as JSON again. */
  readonly kind: "bytes" | "text" | "json";
  readonly seeds: readonly Buffer[];
  /** From what is mutated to what is read: a header around it, check sums put right. Default: as it is. */
  toBytes?(mutated: Buffer): Buffer;
}

export interface OpenTarget {
  /** Reads the bytes. Gives a result, or throws one of the target's errors. */
  run(bytes: Buffer): unknown;
  close?(): unknown;
}

export interface Target {
  readonly name: string;
  /** Words that mean something to the reader: mutations put them in. */
  readonly words?: readonly string[];
  readonly errors: readonly ErrorKind[];
  /** Seconds of computing that one input may take. Default 3. */
  readonly seconds?: number;
  forms(): readonly Form[] | Promise<readonly Form[]>;
  /** `folder` is its own, and everything that the reader writes must stay in it. */
  open(folder: string): OpenTarget | Promise<OpenTarget>;
}

/** Thrown by a target that saw what must not be: an answer of 500, say. */
export class Violation extends Error {
  override name = "Violation";
}

/** A form of texts. */
export const texts = (...seeds: readonly string[]): Form => ({
  kind: "text",
  seeds: seeds.map((seed) => Buffer.from(seed)),
});

/** A form of values. */
export const values = (
  seeds: readonly unknown[],
  toBytes?: (value: unknown) => Buffer | string,
): Form => ({
  kind: "json",
  seeds: seeds.map((seed) => Buffer.from(JSON.stringify(seed))),
  ...(toBytes && {
    toBytes: (mutated: Buffer) => Buffer.from(toBytes(JSON.parse(mutated.toString()))),
  }),
});

/** A form of bytes. */
export const bytes = (seeds: readonly Buffer[], toBytes?: (mutated: Buffer) => Buffer): Form => ({
  kind: "bytes",
  seeds,
  ...(toBytes && { toBytes }),
});
