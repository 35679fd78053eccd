/**
 * @file Whether weights are those that a configuration asks for: names and shapes, before loading.
 */
import type { ModelConfig } from "../config/model-config.ts";
import { parameterShapes } from "../config/parameters.ts";
import type { Checkpoint } from "../safetensors/checkpoint.ts";
import { ModelFileError } from "./errors.ts";

export interface VerifyOptions {
  /**
   * The head may be missing: a value model that starts from a policy's weights has no score yet. The
   * policy's own head is then ignored.
   */
  newHead?: boolean;
}

/** Tensors that old checkpoints carry and that hold nothing: they can be computed. */
const IGNORED = /(^|\.)rotary_emb\.inv_freq$/;
const HEADS = ["lm_head.weight", "score.weight", "score.bias"];

/** Throws an error that names what is missing, too much, or of another shape. Gives the names. */
export function verifyCheckpoint(
  checkpoint: Pick<Checkpoint, "folder" | "names" | "has" | "info">,
  config: ModelConfig,
  { newHead = false }: VerifyOptions = {},
): string[] {
  const expected = parameterShapes(config);
  const optional = (name: string): boolean =>
    IGNORED.test(name) ||
    (newHead && HEADS.includes(name)) ||
    // Some writers save the tied matrix twice.
    (name === "lm_head.weight" && config.tiedEmbeddings && config.head === "causal-lm");
  const missing = [...expected.keys()].filter(
    (name) => !checkpoint.has(name) && !(newHead && HEADS.includes(name)),
  );
  const extra = checkpoint.names.filter((name) => !expected.has(name) && !optional(name));
  const wrong = [...expected].flatMap(([name, shape]) => {
    const found = checkpoint.has(name) ? checkpoint.info(name).shape : shape;
    return String(found) === String(shape)
      ? []
      : [`${name} has the shape [${found}] instead of [${shape}]`];
  });
  const problems = [
    ...(missing.length > 0 ? [`missing: ${some(missing)}`] : []),
    ...(extra.length > 0 ? [`not expected: ${some(extra)}`] : []),
    ...(wrong.length > 0 ? [some(wrong)] : []),
  ];
  if (problems.length > 0)
    throw new ModelFileError(
      checkpoint.folder,
      `the weights are not those of config.json; ${problems.join("; ")}`,
    );
  return [...expected.keys()].filter((name) => checkpoint.has(name));
}

function some(items: readonly string[]): string {
  const most = 4;
  const more = items.length > most ? ` and ${items.length - most} more` : "";
  return items.slice(0, most).join(", ") + more;
}
