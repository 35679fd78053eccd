/**
 * @file The kinds of environment that AgentGym has servers for.
 *
 * Source: AgentGym's servers and clients, github.com/WooooDyy/AgentGym, arXiv:2406.04151.
 */
import type { Kind } from "../kind.ts";
import { alfworld, babyai, maze, sciworld, textcraft, wordle } from "./games.ts";
import { sqlgym, tools, webarena, webshop } from "./services.ts";

export const KINDS: readonly Kind[] = [
  ...[alfworld, webshop, textcraft, babyai, sciworld, maze, wordle, sqlgym],
  // Questions and errands, done with tools.
  ...["movie", "weather", "todo", "academia", "sheet"].map(tools),
  // Questions, answered with a search engine.
  { ...tools("searchqa"), closes: true },
  webarena,
];

export const KIND_NAMES: readonly string[] = KINDS.map(({ name }) => name);

/** The kind of that name, or as AgentGym's data calls it; undefined when there is none. */
export function findKind(name: string): Kind | undefined {
  return KINDS.find((kind) => kind.name === name || kind.item === name);
}
