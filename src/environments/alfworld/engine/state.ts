/**
 * @file Where a game stands. States are never changed: an action makes a new one that shares what
 * stayed the same, so copies cost nothing and an observation can be asked about later.
 */

import type { Visit } from "./admissible.ts";

export interface ReceptacleState {
  /** Sorted indices of the objects in it. An object may be in two receptacles at once. */
  readonly objects: readonly number[];
  readonly opened: boolean;
  /** What it looks like in this state, made when first asked for. */
  description: string | undefined;
  /** The last lists of commands that began with this receptacle (see admissible.ts). */
  commandsEmptyHanded: Visit | undefined;
  commandsHolding: Visit | undefined;
}

export function receptacleState(objects: readonly number[], opened: boolean): ReceptacleState {
  return {
    objects,
    opened,
    description: undefined,
    commandsEmptyHanded: undefined,
    commandsHolding: undefined,
  };
}

export class State {
  readonly location: number;
  /** The object in the agent's hand, or −1. */
  readonly held: number;
  readonly receptacles: readonly ReceptacleState[];
  /** Bits of HAS_BEEN for each object. */
  readonly conditions: readonly number[];
  /** For each location the sorted objects that are at it. */
  readonly places: readonly (readonly number[])[];
  /**
   * Sorted object · receptacles + receptacle: the objects that were taken out of a receptacle and
   * not put back. `look` lists them when they are near, although they may be inside its neighbour.
   */
  readonly takenOut: readonly number[];

  constructor(
    location: number,
    held: number,
    receptacles: readonly ReceptacleState[],
    conditions: readonly number[],
    places: readonly (readonly number[])[],
    takenOut: readonly number[],
  ) {
    this.location = location;
    this.held = held;
    this.receptacles = receptacles;
    this.conditions = conditions;
    this.places = places;
    this.takenOut = takenOut;
  }
}

/** A copy with one element replaced. */
export function replaced<Item>(items: readonly Item[], index: number, item: Item): Item[] {
  const copy = items.slice();
  copy[index] = item;
  return copy;
}

/** A sorted copy that holds the number. */
export function including(numbers: readonly number[], number: number): readonly number[] {
  let place = 0;
  while (place < numbers.length && numbers[place]! < number) place++;
  if (numbers[place] === number) return numbers;
  return [...numbers.slice(0, place), number, ...numbers.slice(place)];
}

/** A copy without the number. */
export function excluding(numbers: readonly number[], number: number): readonly number[] {
  const place = numbers.indexOf(number);
  return place < 0 ? numbers : [...numbers.slice(0, place), ...numbers.slice(place + 1)];
}
