/**
 * @file Ways through all of the rooms, for somebody who knows them: over closed doors, through locked ones for
 * which there is a key, and past things that can be carried away.
 */

import { type Game, thingAt } from "../play/game.ts";
import type { Action } from "../play/progress.ts";
import { inFront, type Point, type Thing } from "../thing.ts";

export interface Stand {
  readonly place: Point;
  readonly direction: number;
}

/** What a way may cost besides its steps. */
export interface Costs {
  /** Of a thing that would have to be carried away. */
  readonly obstacle: number;
  /** Of a locked door whose key is not in the hand. */
  readonly locked: number;
  /** Of opening this door; more than a step where it had better stay closed. */
  door(door: Thing): number;
}

/** The actions until something is in the way, and what that is. */
export interface Route {
  readonly actions: readonly Action[];
  readonly cost: number;
  readonly blockedBy?: { readonly thing: Thing; readonly place: Point };
  /** Every place of the way, to its end. */
  readonly places: readonly Point[];
}

interface Reached {
  readonly stand: Stand;
  readonly cost: number;
  readonly before?: Reached;
  readonly action?: Action;
}

/** The cheapest way to a stand that `isWanted`; undefined where there is none. */
export function routeTo(
  game: Game,
  isWanted: (stand: Stand) => boolean,
  costs: Costs,
): Route | undefined {
  const start: Reached = { stand: { place: game.agent, direction: game.direction }, cost: 0 };
  const best = new Map<number, number>();
  const waiting = new Buckets();
  waiting.add(start);
  for (let at = waiting.next(); at; at = waiting.next()) {
    const { place, direction } = at.stand;
    const key = (place.y * game.width + place.x) * 4 + direction;
    if ((best.get(key) ?? Number.POSITIVE_INFINITY) <= at.cost) continue;
    best.set(key, at.cost);
    if (isWanted(at.stand)) return routeOf(game, at);
    for (const [action, turn] of [
      ["left", 3],
      ["right", 1],
    ] as const)
      waiting.add({
        stand: { place, direction: (direction + turn) % 4 },
        ...{ cost: at.cost + 1, before: at, action },
      });
    const ahead = inFront(place, direction);
    const extra = costOf(game, thingAt(game, ahead), costs);
    if (extra !== undefined)
      waiting.add({
        stand: { place: ahead, direction },
        ...{ cost: at.cost + 1 + extra, before: at, action: "forward" },
      });
  }
  return undefined;
}

function costOf(game: Game, thing: Thing | undefined, costs: Costs): number | undefined {
  if (!thing || thing.state === "open") return 0;
  if (thing.kind === "wall") return undefined;
  if (thing.kind !== "door") return costs.obstacle;
  const hasKey = game.carried?.kind === "key" && game.carried.color === thing.color;
  return costs.door(thing) + (thing.state === "locked" && !hasKey ? costs.locked : 0);
}

/** From the start on, cut off where something is in the way. */
function routeOf(game: Game, end: Reached): Route {
  const steps: Reached[] = [];
  for (let at: Reached | undefined = end; at?.before; at = at.before) steps.push(at);
  steps.reverse();
  const actions: Action[] = [];
  const places = steps.map(({ stand }) => stand.place);
  for (const { stand, action } of steps) {
    const thing = action === "forward" ? thingAt(game, stand.place) : undefined;
    if (thing && thing.state !== "open") {
      const hasKey = game.carried?.kind === "key" && game.carried.color === thing.color;
      if (thing.kind !== "door" || (thing.state === "locked" && !hasKey))
        return { actions, cost: end.cost, places, blockedBy: { thing, place: stand.place } };
      actions.push("toggle");
    }
    actions.push(action!);
  }
  return { actions, cost: end.cost, places };
}

/** A queue by cost: costs are small whole numbers. */
class Buckets {
  readonly #lists: Reached[][] = [];
  #cost = 0;

  add(reached: Reached): void {
    let list = this.#lists[reached.cost];
    if (!list) {
      list = [];
      this.#lists[reached.cost] = list;
    }
    list.push(reached);
  }

  next(): Reached | undefined {
    for (; this.#cost < this.#lists.length; this.#cost++) {
      const reached = this.#lists[this.#cost]?.shift();
      if (reached) return reached;
    }
    return undefined;
  }
}
