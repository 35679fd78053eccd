/**
 * @file BabyAI's forty levels, in the order of AgentGym's numbers.
 */
import type { Level } from "./levels/drawing.ts";
import { GOING } from "./levels/going.ts";
import { OPENING } from "./levels/opening.ts";
import { UNLOCKING } from "./levels/unlocking.ts";

export type { Drawing, Level } from "./levels/drawing.ts";

export const LEVELS: readonly Level[] = [...GOING, ...OPENING, ...UNLOCKING];
