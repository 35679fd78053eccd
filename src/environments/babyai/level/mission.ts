/**
 * @file Missions: what is to be done with which things, how it is said, and which things are meant.
 */
import { type Color, DIRECTIONS, type Point, type Thing } from "../thing.ts";

export type Side = "left" | "right" | "front" | "behind";
export const SIDES: readonly Side[] = ["left", "right", "front", "behind"];

/** Things of a kind and colour, on a side of where the agent starts. */
export interface Description {
  readonly kind?: "key" | "ball" | "box" | "door" | undefined;
  readonly color?: Color | undefined;
  readonly side?: Side | undefined;
}

export type Errand =
  | { readonly verb: "go to"; readonly what: Description }
  /** `strict`: opening, or picking up, something else fails the mission. */
  | { readonly verb: "open" | "pick up"; readonly what: Description; readonly strict: boolean }
  | { readonly verb: "put"; readonly what: Description; readonly beside: Description };

export type Mission =
  | Errand
  | {
      /** "before": the first, then the second; "after": the second, then the first. */
      readonly verb: "and" | "before" | "after";
      readonly first: Mission;
      readonly second: Mission;
    };

export const goTo = (what: Description): Errand => ({ verb: "go to", what });
export const open = (what: Description, strict = false): Errand => ({ verb: "open", what, strict });
export const pickUp = (what: Description, strict = false): Errand => ({
  ...{ verb: "pick up", what, strict },
});
export const put = (what: Description, beside: Description): Errand => ({
  ...{ verb: "put", what, beside },
});

/** A room's bounds, its walls included. */
export interface Bounds {
  readonly left: number;
  readonly top: number;
  readonly size: number;
}

export function isInside({ left, top, size }: Bounds, { x, y }: Point): boolean {
  return x >= left && y >= top && x < left + size && y < top + size;
}

/** Where things are and the agent starts: what a description is understood by. */
export interface Scene {
  readonly width: number;
  readonly height: number;
  readonly cells: readonly (Thing | undefined)[];
  readonly agent: Point;
  readonly direction: number;
  /** The one that the agent is in. */
  readonly room: Bounds;
}

export interface Match {
  readonly thing: Thing;
  readonly place: Point;
}

/** The things that fit, column by column. A description without a kind fits walls, too. */
export function matches(scene: Scene, { kind, color, side }: Description): Match[] {
  const found: Match[] = [];
  for (let x = 0; x < scene.width; x++)
    for (let y = 0; y < scene.height; y++) {
      const thing = scene.cells[y * scene.width + x];
      if (!thing || (kind && thing.kind !== kind) || (color && thing.color !== color)) continue;
      if (side && !(isInside(scene.room, { x, y }) && isOnSide(scene, side, x, y))) continue;
      found.push({ thing, place: { x, y } });
    }
  return found;
}

function isOnSide({ agent, direction }: Scene, side: Side, x: number, y: number): boolean {
  const ahead = DIRECTIONS[direction]!;
  const [right, down] = [x - agent.x, y - agent.y];
  const forward = right * ahead.x + down * ahead.y;
  const sideways = down * ahead.x - right * ahead.y;
  switch (side) {
    case "left":
      return sideways < 0;
    case "right":
      return sideways > 0;
    case "front":
      return forward > 0;
    case "behind":
      return forward < 0;
  }
}

/** The mission in words. */
export function missionText(scene: Scene, mission: Mission): string {
  const named = (what: Description): string => {
    const article = matches(scene, what).length > 1 ? "a" : "the";
    const side =
      what.side && { front: "in front of you", behind: "behind you" }[what.side as string];
    const place = side ?? (what.side && `on your ${what.side}`);
    return [article, what.color, what.kind ?? "object", place].filter(Boolean).join(" ");
  };
  switch (mission.verb) {
    case "put":
      return `put ${named(mission.what)} next to ${named(mission.beside)}`;
    case "go to":
    case "open":
    case "pick up":
      return `${mission.verb} ${named(mission.what)}`;
    default: {
      const joint = { and: " and ", before: ", then ", after: " after you " }[mission.verb];
      return missionText(scene, mission.first) + joint + missionText(scene, mission.second);
    }
  }
}

/** How often one has to walk somewhere, at most: levels without a fixed limit have time for each. */
export function walksOf(mission: Mission): number {
  if ("first" in mission) return walksOf(mission.first) + walksOf(mission.second);
  return mission.verb === "put" ? 2 : 1;
}

/** Its errands, from left to right. */
export function errandsOf(mission: Mission): readonly Errand[] {
  return "first" in mission
    ? [...errandsOf(mission.first), ...errandsOf(mission.second)]
    : [mission];
}
