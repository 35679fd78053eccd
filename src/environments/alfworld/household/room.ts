/**
 * @file Rooms: a kind, and which receptacles stand where.
 *
 * Every layout belongs, by its hash, either to the rooms that training sees or to those that it never
 * sees, so that the two cannot meet whatever the seed.
 */
import { seededRandom, stableHash } from "../../random.ts";
import { keepingRecent } from "../../recent-cache.ts";
import type { Difficulty } from "./difficulty.ts";
import { RECEPTACLES, type ReceptacleName, ROOM_KINDS, type RoomKind } from "./vocabulary.ts";

export interface Furniture {
  readonly name: ReceptacleName;
  readonly closed: boolean;
  /** Furniture with the same place is within reach at once. */
  readonly place: number;
}

export interface Room {
  readonly kind: RoomKind;
  readonly furniture: readonly Furniture[];
}

/** One in five layouts, and one in five combinations of a task's words, are kept from training. */
const SHARE_UNSEEN = 5;

export function isUnseen(...parts: readonly (string | number)[]): boolean {
  return stableHash("unseen", ...parts) % SHARE_UNSEEN === 0;
}

/** What makes two rooms the same layout. */
export function layoutOf({ kind, furniture }: Room): string {
  const things = furniture.map(({ name, closed, place }) => `${name}${closed ? "+" : ""}@${place}`);
  return `${kind.name}: ${things.join(" ")}`;
}

/** The room of that number: the same for the same seed and difficulty. */
export function roomOf(
  seed: number,
  number: number,
  unseen: boolean,
  difficulty: Difficulty,
): Room {
  return recentRoom({ seed, number, unseen, difficulty });
}

interface RoomName {
  readonly seed: number;
  readonly number: number;
  readonly unseen: boolean;
  readonly difficulty: Difficulty;
}

/** A room is drawn for hundreds of games. */
const recentRoom = keepingRecent(
  ({ seed, number, unseen, difficulty: { receptacles, closed } }: RoomName) =>
    `${seed} ${number} ${unseen} ${receptacles} ${closed}`,
  2000,
  ({ seed, number, unseen, difficulty }): Room => {
    for (let attempt = 0; ; attempt++) {
      const room = draw(seed, number, attempt, difficulty);
      if (isUnseen(layoutOf(room)) === unseen) return room;
    }
  },
);

function draw(seed: number, number: number, attempt: number, difficulty: Difficulty): Room {
  const { receptacles, closed } = difficulty;
  const random = seededRandom("room", seed, number, attempt, ...receptacles, closed);
  const kind = random.pick(ROOM_KINDS);
  const [least, most] = receptacles;
  const count = Math.max(kind.fixed.length, least + random.integer(most - least + 1));
  const names: ReceptacleName[] = [...kind.fixed];
  while (names.length < count) names.push(random.pick(kind.more));
  let place = -1;
  const furniture = names.map((name): Furniture => {
    // Some pieces stand beside the one before them.
    if (place < 0 || !random.chance(0.15)) place++;
    const { closable, appliance } = RECEPTACLES[name];
    return { name, closed: closable && (appliance || random.chance(closed)), place };
  });
  return { kind, furniture };
}
