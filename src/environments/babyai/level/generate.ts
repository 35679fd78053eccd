/**
 * @file Draws a level: rooms, things, agent and mission, again and again until they are in order.
 */
import { type Point, stepsApart, type Thing } from "../thing.ts";
import { LevelBuilder, Rejected } from "./builder.ts";
import type { Drawing, Level } from "./levels.ts";
import {
  type Description,
  errandsOf,
  type Mission,
  matches,
  missionText,
  type Scene,
  walksOf,
} from "./mission.ts";
import { numpyRandom } from "./numpy-random.ts";

/** Where an episode begins. */
export interface Beginning extends Scene {
  readonly mission: Mission;
  readonly missionText: string;
  /** Low-level steps, by which the reward shrinks. */
  readonly limit: number;
  readonly carried?: Thing;
}

/**
 * `resets`: AgentGym begins a new environment twice with the same seed; the second time some levels remember
 * the locked room of the first, and may draw another mission.
 */
export function generateLevel(
  level: Level,
  seed: number,
  {
    keysMayBeLockedIn,
    resets = 1,
  }: { readonly keysMayBeLockedIn: boolean; readonly resets?: number },
): Beginning {
  const drawing: Drawing = { keysMayBeLockedIn };
  let beginning = drawn(level, seed, drawing);
  for (let reset = 1; reset < resets; reset++) beginning = drawn(level, seed, drawing);
  return beginning;
}

function drawn(level: Level, seed: number, drawing: Drawing): Beginning {
  const random = numpyRandom(seed);
  for (;;)
    try {
      const builder = new LevelBuilder(random, level.layout);
      const mission = level.draw(builder, drawing);
      requireSensible(builder, mission, level.unblocking ?? false);
      const { width, height, cells, agent, direction, room, layout } = builder;
      const text = missionText(builder, mission);
      return {
        ...{ width, height, cells: [...cells], agent, direction, mission, missionText: text },
        room: { left: room.left, top: room.top, size: room.size },
        limit: level.limit ?? walksOf(mission) * layout.size ** 2 * layout.rows * layout.columns,
        ...(drawing.carried && { carried: drawing.carried }),
      };
    } catch (error) {
      if (!(error instanceof Rejected)) throw error;
    }
}

/** What is to be put beside something is not there already; no mission is about a key that opens a door. */
function requireSensible(scene: LevelBuilder, mission: Mission, unblocking: boolean): void {
  const locked = new Set(
    scene.cells.filter((thing) => thing?.state === "locked").map((door) => door!.color),
  );
  const isKeyOfDoor = ({ kind, color }: Description): boolean =>
    unblocking && kind === "key" && color !== undefined && locked.has(color);
  for (const errand of errandsOf(mission)) {
    if (errand.verb === "put") {
      const [moved, fixed] = [matches(scene, errand.what), matches(scene, errand.beside)];
      const isNear = (place: Point): boolean =>
        fixed.some((other) => stepsApart(place, other.place) <= 1);
      if (moved.some(({ place }) => isNear(place)))
        throw new Rejected("both are the same, or beside each other already");
      if (isKeyOfDoor(errand.beside)) throw new Rejected("the key of a locked door");
    }
    if (isKeyOfDoor(errand.what)) throw new Rejected("the key of a locked door");
  }
}
