/**
 * @file A model's adapter: a new one, or one that was saved.
 */
import { OptionError } from "../../assembly/index.ts";
import { addLora, type LoraModel, loadLora, type Model } from "../../models/index.ts";
import { derivedGenerator } from "../../torch/index.ts";
import type { LoraSettings } from "../options.ts";

/** `saved`: the folder of an adapter to go on with. */
export function adapterOf(
  base: Model,
  settings: LoraSettings,
  seed: number,
  saved: string | undefined,
): LoraModel {
  if (saved !== undefined) return loadLora(base, saved);
  const generator = derivedGenerator(seed, "adapter");
  try {
    return addLora(base, settings, generator);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new OptionError(error.message);
  } finally {
    generator.dispose();
  }
}
