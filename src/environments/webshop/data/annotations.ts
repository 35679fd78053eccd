/**
 * @file What people and programs wrote about products: items_ins_v2.json (attributes, an instruction)
 * and items_human_ins.json (instructions by people).
 */
import { DataError } from "./json-array.ts";
import { type Fields, fieldsOf, shown, textOf, textsOf } from "./record.ts";

/** Of one product, from items_ins_v2.json. */
export interface Annotation {
  readonly attributes: readonly string[] | undefined;
  readonly instruction: string | undefined;
  readonly instructionAttributes: readonly string[];
}

/** One instruction by a person, from items_human_ins.json. */
export interface HumanInstruction {
  readonly instruction: string;
  readonly attributes: readonly string[];
  readonly options: readonly string[];
}

export type Annotations = (asin: string) => Annotation | undefined;
export type HumanInstructions = (asin: string) => readonly HumanInstruction[];

export function annotationsOf(file: unknown): Annotations {
  const entries = fieldsOf(file);
  return (asin) => {
    const entry = own(entries, asin);
    if (entry === undefined) return undefined;
    return naming(asin, () => {
      const fields = fieldsOf(entry);
      const has = Object.hasOwn(fields, "attributes");
      return {
        attributes: has ? textsOf(fields.attributes, "attributes") : undefined,
        instruction: textOf(fields, "instruction") || undefined,
        instructionAttributes: textsOf(fields.instruction_attributes, "instruction_attributes"),
      };
    });
  };
}

export function humanInstructionsOf(file: unknown): HumanInstructions {
  const entries = fieldsOf(file);
  return (asin) => {
    const list = own(entries, asin) ?? [];
    return naming(asin, () => {
      if (!Array.isArray(list)) throw new DataError(`must be a list, not ${shown(list)}`);
      return list.map((entry) => {
        const fields = fieldsOf(entry);
        return {
          instruction: textOf(fields, "instruction"),
          attributes: textsOf(fields.instruction_attributes, "instruction_attributes"),
          options: textsOf(fields.instruction_options, "instruction_options"),
        };
      });
    });
  };
}

function own(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

function naming<Result>(asin: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    throw new DataError(`the entry of ${asin}: ${error.message}`, { cause: error });
  }
}
