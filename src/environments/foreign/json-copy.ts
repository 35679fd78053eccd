/**
 * @file Copies of plain data that somebody else made: bounded, and safe from getters, circles and later
 * changes.
 */
import type { Json } from "../environment.ts";

export interface JsonBounds {
  /** Characters of all texts and names together. */
  readonly characters: number;
  /** Values, lists and objects together. */
  readonly values: number;
}

/** Deeper data than this is taken for a circle. */
const DEEPEST = 64;

/** What is wrong with data that is not what JSON can hold, or too much of it. */
export class JsonProblem extends Error {}

/** A copy, as it is now. Throws JsonProblem, with what was expected. */
export function jsonCopy(value: unknown, bounds: JsonBounds): Json {
  let characters = bounds.characters;
  let values = bounds.values;
  const text = (given: string): string => {
    characters -= given.length;
    if (characters < 0)
      throw new JsonProblem(`what JSON can hold, with at most ${bounds.characters} characters`);
    return given;
  };
  const tooMany = () => new JsonProblem(`what JSON can hold, with at most ${bounds.values} values`);
  const copy = (given: unknown, depth: number): Json => {
    if (--values < 0) throw tooMany();
    if (given === null || typeof given === "boolean") return given;
    if (typeof given === "string") return text(given);
    if (typeof given === "number" && Number.isFinite(given)) return given;
    // JSON leaves it out; whoever wrote { x: undefined } meant that.
    if (given === undefined) return given as unknown as Json;
    if (typeof given !== "object") throw new JsonProblem("what JSON can hold");
    if (depth > DEEPEST)
      throw new JsonProblem(`what JSON can hold, ${DEEPEST} levels deep at most`);
    const own = (given as { toJSON?: unknown }).toJSON;
    if (typeof own === "function") return copy(own.call(given), depth + 1);
    if (Array.isArray(given)) {
      if (given.length > values) throw tooMany();
      return Array.from({ length: given.length }, (_, i) => copy(given[i], depth + 1));
    }
    const names = Object.keys(given);
    if (names.length > values) throw tooMany();
    return Object.fromEntries(
      names.map((name) => [text(name), copy((given as Record<string, unknown>)[name], depth + 1)]),
    );
  };
  return copy(value, 0);
}
