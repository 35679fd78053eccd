/**
 * @file Rooms that training never enters: whole floor plans of the training games, set aside. The official
 * `valid_unseen` is made in the same way, of four other rooms.
 */
import { EnvironmentError } from "../../environment.ts";
import { seededRandom } from "../../random.ts";
import type { Entry } from "./tasks.ts";

/** The split of the games in rooms that were set aside. */
export const UNSEEN_ROOMS = "unseen_rooms";

/** Floor plans are numbered by the hundred: kitchens, living rooms, bedrooms, bathrooms. */
const kindOf = (plan: number): number => Math.floor(plan / 100);

/** The entries, with the training games in `count` rooms of each kind in a split of their own. */
export function withUnseenRooms(
  environment: string,
  entries: readonly Entry[],
  count: number,
): readonly Entry[] {
  if (count === 0) return entries;
  const known = entries.flatMap(({ split, plan }) =>
    split === "train" && plan !== undefined ? [plan] : [],
  );
  const plans = [...new Set(known)].sort((a, b) => a - b);
  if (plans.length === 0)
    throw new EnvironmentError(
      environment,
      "rooms cannot be set aside: no folder of its training games ends with the number of a floor plan.",
    );
  const chosen = new Set<number>();
  for (const kind of new Set(plans.map(kindOf))) {
    const rooms = plans.filter((plan) => kindOf(plan) === kind);
    if (count >= rooms.length)
      throw new EnvironmentError(
        environment,
        `${count} rooms of each kind are to be set aside, but of the plans from ${rooms[0]} on there are only ${rooms.length}.`,
      );
    const order = seededRandom("unseen rooms", kind).shuffled(rooms);
    for (const plan of order.slice(0, count)) chosen.add(plan);
  }
  return entries.map((entry) =>
    entry.split === "train" && chosen.has(entry.plan!) ? { ...entry, split: UNSEEN_ROOMS } : entry,
  );
}
