/**
 * @file The list of our own worlds. A new world adds its line here.
 */
import { agentgym } from "./agentgym/index.ts";
import { alfworld, household } from "./alfworld/index.ts";
import { babyai } from "./babyai/index.ts";
import type { WorldDefinition } from "./define.ts";
import { maze } from "./maze/index.ts";
import { openenv } from "./openenv/index.ts";
import { sql } from "./sql/index.ts";
import { textcraft } from "./textcraft/index.ts";
import { tools } from "./tools/index.ts";
import { webshop } from "./webshop/index.ts";
import { wordle } from "./wordle/index.ts";

export const BUILT_IN: readonly WorldDefinition[] = [
  agentgym,
  alfworld,
  babyai,
  household,
  maze,
  openenv,
  sql,
  textcraft,
  tools,
  webshop,
  wordle,
];
