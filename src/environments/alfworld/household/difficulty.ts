/**
 * @file How hard the games are: how much there is, and how much of it is behind doors.
 */

export interface Difficulty {
  readonly receptacles: readonly [least: number, most: number];
  readonly objects: readonly [least: number, most: number];
  /** The share of those receptacles that can be closed that are. */
  readonly closed: number;
}

export const DIFFICULTIES = {
  easy: { receptacles: [5, 8], objects: [6, 12], closed: 0.2 },
  medium: { receptacles: [8, 16], objects: [12, 28], closed: 0.6 },
  hard: { receptacles: [18, 32], objects: [25, 50], closed: 0.9 },
} as const satisfies Readonly<Record<string, Difficulty>>;

export type DifficultyName = keyof typeof DIFFICULTIES;
