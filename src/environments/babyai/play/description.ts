/**
 * @file What the agent sees, in the words of AgentGym's BabyAI.
 */
import { nameOf, type Point, stepsApart, type Thing } from "../thing.ts";
import type { Game } from "./game.ts";
import { axes, type View } from "./view.ts";

/** Something that is seen, walls included. */
export interface Sight {
  readonly thing: Thing;
  readonly name: string;
  readonly place: Point;
  readonly distance: number;
}

/** Everything that is seen, the nearest first; places above or left of the grid do not count. */
export function sightsOf({ agent }: Game, { seen, places }: View): Sight[] {
  const sights: Sight[] = [];
  seen.forEach((thing, i) => {
    const place = places[i]!;
    const distance = stepsApart(place, agent);
    if (typeof thing === "string" || place.x < 0 || place.y < 0 || distance === 0) return;
    sights.push({ thing, name: nameOf(thing), place, distance });
  });
  return sights.sort((one, other) => one.distance - other.distance);
}

/** How far ahead and to the right a place is. */
function offsets({ agent, direction }: Game, { x, y }: Point): [ahead: number, right: number] {
  const [ahead, right] = axes(direction);
  const [across, down] = [x - agent.x, y - agent.y];
  return [across * ahead.x + down * ahead.y, across * right.x + down * right.y];
}

/** The nearest wall or box straight ahead. */
export function barrierOf(
  game: Game,
  sights: readonly Sight[],
): [kind: string, steps: number] | undefined {
  for (const { thing, place } of sights) {
    if (thing.kind !== "wall" && thing.kind !== "box") continue;
    const [ahead, right] = offsets(game, place);
    if (right === 0) return [thing.kind, ahead];
  }
  return undefined;
}

export function describedSights(game: Game, sights: readonly Sight[]): string {
  const counts = new Map<string, number>();
  let text =
    sights.length > 0
      ? "In front of you in this room, you can see several objects: "
      : "You cannot see any objects within sight.";
  for (const { thing, name, place } of sights) {
    if (thing.kind === "wall") continue;
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    const [ahead, right] = offsets(game, place);
    const where =
      right === 0
        ? `right in front of you ${ahead} steps away.`
        : `${ahead} steps in front of you and ${Math.abs(right)} steps to your ${right > 0 ? "right" : "left"}.`;
    text += `There is a ${name} ${count} ${where}  `;
  }
  text += "The room has walls around you. ";
  const barrier = barrierOf(game, sights);
  if (barrier) text += `You are facing a ${barrier[0]} ${barrier[1]} steps away. `;
  const { carried } = game;
  return `${text}${carried ? `You are carrying a ${carried.color} ${carried.kind}.` : "You are not carrying anything."}`;
}
