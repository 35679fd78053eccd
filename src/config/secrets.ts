/**
 * @file Settings that say where a key is. What a run writes down is that place, so that it can go on.
 */
import { z } from "zod";
import { isKeyPlace, KEY_PLACES, keyAt, NetworkError } from "../network/index.ts";
import { ConfigError } from "./override.ts";

/** The setting's schema. What is wrong with a value is said without the value: it may be a key. */
export function secretReference() {
  return z.string().refine(isKeyPlace, { error: `looks like a key in plain text; ${KEY_PLACES}` });
}

/** The key that a setting says the place of, to be called when it is needed. */
export function secretOf(setting: string, place: string | undefined): (() => string) | undefined {
  if (place === undefined) return undefined;
  return () => {
    try {
      return keyAt(setting, place);
    } catch (error) {
      if (!(error instanceof NetworkError)) throw error;
      throw new ConfigError(error.message);
    }
  };
}
