/**
 * @file The commands that are possible now, each with its low-level actions, and why others are not.
 */
import { inFront, isSamePlace } from "../thing.ts";
import { barrierOf, type Sight } from "./description.ts";
import type { Game } from "./game.ts";
import { pathTo, surroundingsOf } from "./path.ts";
import type { Action } from "./progress.ts";

export interface Commands {
  /** In the order in which they are listed. */
  readonly possible: ReadonlyMap<string, readonly Action[]>;
  /** What is answered to commands that make sense and cannot be carried out. */
  readonly refused: ReadonlyMap<string, string>;
}

export const CHECK = "check available actions";

export function commandsOf(game: Game, sights: readonly Sight[]): Commands {
  const possible = new Map<string, readonly Action[]>([
    ["turn left", ["left"]],
    ["turn right", ["right"]],
  ]);
  const refused = new Map<string, string>();
  const barrier = barrierOf(game, sights);
  if (!barrier || barrier[1] > 1) possible.set("move forward", ["forward"]);
  else refused.set("move forward", "There is a barrier in front of you, you can't move forward.");
  const objects = sights.filter(({ thing }) => thing.kind !== "wall");
  const around = surroundingsOf(game, sights);
  const ways = new Map(objects.map((object) => [object, pathTo(around, object.place, false)]));
  /** Reachable ones are numbered among themselves; of others, only the next is known as refused. */
  const numbered = (verb: string, among: readonly Sight[], last: readonly Action[]): void => {
    const counts = new Map<string, number>();
    for (const object of among) {
      const count = (counts.get(object.name) ?? 0) + 1;
      const command = `${verb} ${object.name} ${count}`;
      const way = ways.get(object);
      if (!way) refused.set(command, `You cannot ${command}, as there is no path leading to it.`);
      else {
        counts.set(object.name, count);
        possible.set(command, [...way, ...last]);
      }
    }
  };
  if (!game.carried)
    numbered(
      "pickup",
      objects.filter(({ thing }) => thing.kind !== "door"),
      ["pickup"],
    );
  const ahead = inFront(game.agent, game.direction);
  if (!game.carried)
    refused.set("drop", "You cannot drop the object, as you are not carrying anything.");
  else if (sights.some(({ thing, place }) => isSamePlace(place, ahead) && thing.kind !== "door"))
    refused.set(
      "drop",
      "You cannot drop the object, as there is already an object in front of you.",
    );
  else possible.set("drop", ["drop"]);
  const doors = new Map<string, number>();
  for (const object of objects) {
    const { thing, name, place } = object;
    if (thing.kind !== "door") continue;
    const number = (doors.get(name) ?? 0) + 1;
    doors.set(name, number);
    const through = `go through ${name} ${number}`;
    const toggle = `toggle and go through ${name} ${number}`;
    if (thing.state === "open") {
      const way = pathTo(around, place, true);
      if (way) possible.set(through, way);
      else refused.set(through, `You cannot ${through}, as there is no path leading to it.`);
      continue;
    }
    const key = game.carried?.kind === "key" ? game.carried : undefined;
    if (thing.state === "locked" && key?.color !== thing.color) {
      const why = key
        ? "as the color of the key you are carrying does not match the color of door."
        : "as you are not carrying a key.";
      refused.set(toggle, `You cannot ${toggle}, ${why}`);
      continue;
    }
    const way = ways.get(object);
    if (way) possible.set(toggle, [...way, "toggle", "forward"]);
    // The original prints its table of counts here.
    else
      refused.set(
        toggle,
        `You cannot toggle and go through ${name} ${pythonCounts(doors)}, as there is no path leading to it.`,
      );
    if (way?.length === 0) possible.set("toggle", ["toggle"]);
    if (thing.state === "closed")
      refused.set(through, `You cannot ${through}, as it is closed. You should toggle it first.`);
  }
  numbered("go to", objects, []);
  possible.set(CHECK, []);
  return { possible, refused };
}

function pythonCounts(counts: ReadonlyMap<string, number>): string {
  return `{${[...counts].map(([name, count]) => `'${name}': ${count}`).join(", ")}}`;
}
